#pragma once

#include <vector>

#include "pass/layout/layout_rules.h"

namespace frazil::pass {

/// Chooses the nodes that work on images with channels last, and the values that are such images.
///
/// A node that has a rule, or a value that a region carries, is a unit. Units that share images form a component. An
/// image must be transposed, once, where units with channels last meet other nodes.
///
/// A component with a convolution starts with channels last. Units at its border leave it while that saves moves. The
/// component keeps channels last if its convolutions save more than the remaining moves cost.
class LayoutChoice {
 public:
  LayoutChoice(const Graph& graph, const PassOptions& options);

  struct Unit {
    NodeId node;
    const LayoutRule* rule = nullptr;  ///< null: a value of a region
    LayoutChange change;
    double gain = 0;  ///< in moved elements
    bool last = false;
  };
  bool any() const;
  /// Returns the unit of a node, if it works with channels last and is not a region; else null.
  const Unit* unit_of(NodeId id) const;
  bool is_last(Value v) const { return maker_[v.id] != kNone && units_[maker_[v.id]].last; }
  bool is_absorbed(NodeId id) const { return absorbed_[id.id]; }
  /// Returns a text such as "last_conv x12, last_elementwise x30, 2 images transposed".
  std::string str() const;

 private:
  static constexpr std::uint32_t kNone = ~0u;
  void find_units(const PassOptions& options);
  void add_units(NodeId id, const Uses& uses, const PassOptions& options);
  void leave_absorbed();
  void link();
  void count_plain_uses(NodeId id);
  double elements(Value v) const;
  double gain(const Unit& unit) const;
  std::vector<Value> images(const Unit& unit) const;
  bool has_to_move(Value v) const;
  double moved_around(const Unit& unit) const;
  std::vector<std::uint32_t> components(bool of_last) const;
  void start();
  bool improve();
  void drop_losses();

  const Graph& graph_;
  std::vector<std::int64_t> sizes_;  ///< assumed, per symbol
  std::vector<Unit> units_;
  std::vector<bool> absorbed_;                      ///< per node
  std::vector<std::uint32_t> by_node_;              ///< per node without blocks: its unit
  std::vector<std::uint32_t> maker_;                ///< per value: the unit that makes it
  std::vector<std::vector<std::uint32_t>> takers_;  ///< per value: the units that read it
  std::vector<bool> plain_;                         ///< per value: read by a node without a unit, or not as an image
};

}  // namespace frazil::pass
