#pragma once

#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/analyse/appends.h"
#include "plan/analyse/placement.h"
#include "plan/lower/fuse.h"
#include "plan/lower/plan_writer.h"

namespace frazil {

/// The symbols of the positions that nodes pick. They must exist before registers are numbered.
class Picks {
 public:
  Picks(const Graph& graph, Scope& scope, const Needs& needs);
  SymbolId of(NodeId n) const { return picks_.at(n.id); }

 private:
  std::unordered_map<std::uint32_t, SymbolId> picks_;
};

/// Lowers nodes other than regions to steps.
class NodeLowering {
 public:
  NodeLowering(PlanWriter& writer, const Fusion& fusion, const Appends& appends, const Placements& placements,
               const Picks& picks);

  Status lower(NodeId id);
  /// Returns a new slot for a result that its node computes, in the memory that its placement names.
  SlotId result_slot(Value v);
  /// Sets the memory of results that are placed in an output of a region; set_row() does so for an accumulator. Call
  /// both when the region is opened.
  void set_joined(NodeId region, std::uint32_t output, SlotId slot) { joined_[{region.id, output}] = slot; }
  struct Row {
    std::uint32_t storage = kNone;
    std::optional<Layout> stacked;  ///< the whole result; else parts lie one after the other
    std::size_t axis = 0;
    bool reversed = false;
    Dim at = 0;  ///< the iteration's number
  };
  void set_row(NodeId region, std::uint32_t accumulator, Row row) { rows_[{region.id, accumulator}] = std::move(row); }
  /// Returns the layout of a part of extents `shape` in a row.
  Layout row_layout(const Row& row, const Shape& shape);
  const Row* row_of(NodeId region, std::uint32_t accumulator) const;
  /// Gives the memory of a growing value a capacity of at least `least`. With `keep`, its elements stay.
  void grow(SlotId slot, Dim least, const Append& append, bool keep);

 private:
  void store_known_value(Value v, NodeId id);
  void make_result(step::Launch& launch, Value v);
  void bind_operands(step::Launch& launch, NodeId id, const Binding& binding);
  void compute(NodeId id, const Binding& binding, std::span<const Dim> domain = {});
  void compute(const FusionGroup& group);
  std::vector<step::OutputExtent> bind_output_extents(const Node& n, std::uint32_t& group);
  Status view(NodeId id);
  void view_output(NodeId id, const ViewMap& map, Value out);
  void reshape(NodeId id, const ViewMap& map, Value out);
  void affine(NodeId id, const ViewMap& map, Value out);
  bool edges(NodeId id, const ViewMap& map, Value out);
  std::optional<std::pair<Layout, Shape>> repeated(const ViewMap& map, const Layout& from);
  void pad(NodeId id, const ViewMap& map, Value out);
  void concat(NodeId id, const ViewMap& map, Value out);
  bool append(NodeId id, const ViewMap& map, Value out);
  void pick(NodeId id, std::size_t axis);

  using RegionPlace = std::pair<std::uint32_t, std::uint32_t>;  // node, output or accumulator
  PlanWriter& w_;
  const Fusion& fusion_;
  const Appends& appends_;
  const Placements& placements_;
  const Picks& picks_;
  std::map<RegionPlace, SlotId> joined_;
  std::map<RegionPlace, Row> rows_;
};

}  // namespace frazil
