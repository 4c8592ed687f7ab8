#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "pass/engine/passes.h"
#include "pass/engine/rules.h"

// How single nodes work on images with channels last: [batch, spatial..., channels] instead of [batch, channels,
// spatial...].
namespace frazil::pass {

/// The images that a node reads and makes with channels last.
struct LayoutChange {
  std::vector<Value> image_inputs, image_outputs;
  std::vector<NodeId> absorbed;  ///< nodes whose work it includes; nothing else uses their results
  double gain = 0;               ///< moves that it saves per element of its image, in time
};

struct LayoutQuery {
  const Graph& graph;
  NodeId id;
  const Node& node;
  const Uses& uses;
  const PassOptions& options;
};

/// A node that is built again with channels last. `last` and `second` return the new value of an old one, with its
/// channels at that position.
struct LayoutSite {
  const Graph& from;
  const Node& node;
  Builder& to;
  const LayoutChange& change;
  std::function<Expr(Value)> last, second;

  template <class A>
  const A& attrs() const {
    return node.attributes<A>();
  }
};

struct LayoutRule {
  Rule row;  ///< its name, operators and text
  /// Returns nullopt if the node cannot work with channels last. Not called for nodes with checks.
  std::optional<LayoutChange> (*match)(const LayoutQuery& query);
  /// Returns one value per result of the node. Errors are in the builder's status.
  std::vector<Value> (*make)(const LayoutSite& site);
  bool anchor = false;  ///< a reason to work with channels last; other nodes follow
};
std::span<const LayoutRule> window_layout_rules();
std::span<const LayoutRule> fold_layout_rules();
std::span<const LayoutRule> move_layout_rules();
/// Returns the rows of these rules, for the table of all rules.
std::vector<const Rule*> layout_rules();

/// Returns the images that a region carries, or that its branches give, as one Turn per result: the values that the
/// result consists of, and those that they become.
std::vector<LayoutChange> region_layout_changes(const Graph& graph, const Node& region);
/// Returns the value of a region's turns that result `index` of its blocks becomes.
Value becomes(const Graph& graph, const Node& region, std::size_t index);

/// Returns true for an image: batch, channels, and at least one spatial axis.
bool is_image(const Graph& graph, Value v);
/// Returns true if all elements keep their positions when the image is transposed.
bool transposes_in_place(const Type& type);
/// Returns image x, transposed by a node of this name.
Expr channels_last(Expr x, std::string_view name = {});
Expr channels_second(Expr x, std::string_view name = {});
/// Returns the position of an axis in an image with channels last.
std::int64_t last_axis_of(std::int64_t axis, std::size_t rank);
Ints last_axes_of(std::span<const std::int64_t> axes, std::size_t rank);
/// Returns the axes of an image with channels second in the order of one with channels last. second_order() is the
/// inverse.
Ints last_order(std::size_t rank);
Ints second_order(std::size_t rank);

/// Returns the content of an integer operand: empty if it is absent, nullopt if it is unknown.
std::optional<Ints> content(const Graph& graph, const Node& node, std::size_t input);
/// Returns a turn from image operand 0 to all results.
LayoutChange image_to_image(const Node& node);
/// Appends the node again with the given operands. Returns all results.
std::vector<Value> rebuilt(const LayoutSite& site, std::vector<Expr> in, Attrs attrs);

}  // namespace frazil::pass
