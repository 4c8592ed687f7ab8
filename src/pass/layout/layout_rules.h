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

/// What a node takes and gives with channels last.
struct Turn {
  std::vector<Value> takes, gives;
  std::vector<NodeId> absorbed;  ///< nodes whose work it includes; nobody else uses what they give
  double gain = 0;               ///< how many moves it saves per element of its image, in time
};

struct TurnQuery {
  const Graph& graph;
  NodeId id;
  const Node& node;
  const Uses& uses;
  const PassOptions& options;
};

/// A node that is built again with channels last. `last` and `second` give the new value of an old one, with its
/// channels there.
struct TurnSite {
  const Graph& from;
  const Node& node;
  Builder& to;
  const Turn& turn;
  std::function<Expr(Value)> last, second;

  template <class A>
  const A& attrs() const {
    return node.attributes<A>();
  }
};

struct LayoutRule {
  Rule row;  ///< its name, operators and text
  /// Nothing when the node cannot work so. Not asked about nodes with checks.
  std::optional<Turn> (*turn)(const TurnQuery& query);
  /// One value per result of the node; poisoned Exprs on errors.
  std::vector<Value> (*make)(const TurnSite& site);
  bool anchor = false;  ///< a reason to work with channels last; others follow
};
std::span<const LayoutRule> window_layout_rules();
std::span<const LayoutRule> fold_layout_rules();
std::span<const LayoutRule> move_layout_rules();
/// The same as rules, for the table of all rules.
std::vector<const Rule*> layout_rules();

/// The values that one result of a region consists of, and those that they become: a carried value, or what the
/// branches give.
std::vector<Turn> region_turns(const Graph& graph, const Node& region);
/// The value of a region's turns that result `index` of its blocks becomes.
Value becomes(const Graph& graph, const Node& region, std::size_t index);

/// The type is that of an image: batch, channels, and at least one spatial axis.
bool is_image(const Graph& graph, Value v);
/// All elements remain in their places when the image is turned.
bool turns_in_place(const Type& type);
/// The image x, turned by a node of this name.
Expr channels_last(Expr x, std::string_view name = {});
Expr channels_second(Expr x, std::string_view name = {});
/// The place of an axis in an image with channels last.
std::int64_t last_axis_of(std::int64_t axis, std::size_t rank);
Ints last_axes_of(std::span<const std::int64_t> axes, std::size_t rank);
/// The axes of an image with channels second in the order in which one with channels last has them, and the other way.
Ints last_order(std::size_t rank);
Ints second_order(std::size_t rank);

/// The content of an integer operand when it is known: empty for none, nullopt when it is unknown.
std::optional<Ints> content(const Graph& graph, const Node& node, std::size_t input);
/// A turn of an image operand to all results.
Turn image_to_image(const Node& node);
/// All results of the node, made from the given operands.
std::vector<Value> again(const TurnSite& site, std::vector<Expr> in, Attrs attrs);

}  // namespace frazil::pass
