#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/edit/builder.h"

namespace frazil::pass {

/// Finds the values of a graph that hold one row for each position along an extent, such that a row depends only on the
/// rows of the same position. Rows of several requests can then be joined: the graph computes the joined rows of the
/// results. Nodes of operators in `served` are exempt; other nodes must treat rows separately.
class RowAxes {
 public:
  /// Rows of results for a node that reads several rows and that the caller replaces.
  struct Served {
    const OpDef* op;
    /// Returns the axis of rows for each result, none for a result that must not be used; nullopt if it does not serve
    /// the node.
    std::optional<std::vector<std::optional<std::size_t>>> (*axes)(const Graph&, const Node&, const RowAxes&);
  };

  /// Returns Code::unsupported, with the name of the node or value, if a row of a result depends on several rows, on
  /// the number of rows or on its position.
  static Result<RowAxes> of(const Graph& graph, SymbolId rows, std::span<const Served> served);

  /// Returns the axis of rows; nullopt for a value that has none.
  std::optional<std::size_t> axis(Value v) const;
  /// Returns true for a value that is the same for all requests.
  bool is_shared(Value v) const { return !v || states_[v.id].kind == Kind::shared; }

 private:
  /// `shared`: equal for all requests. `rows`: along `axis`. `extents`: integers made of the number of rows; nodes may
  /// use them only as extents. `unusable`: no node may use it.
  enum class Kind : std::uint8_t { shared, rows, extents, unusable };
  struct State {
    Kind kind = Kind::shared;
    std::size_t axis = 0;
  };
  using Found = std::optional<State>;  ///< nullopt: an element depends on several rows

  RowAxes(const Graph& graph, SymbolId rows, std::span<const Served> served);
  Status visit(NodeId id);
  bool set_results(const Node& node, std::span<const State> states);
  bool find_served(const Node& node);
  bool find_by_form(const Node& node);
  bool find(NodeId id);
  bool find_known(const Node& node);
  Found state_of(const Node& node, const Elementwise&, std::size_t output) const;
  Found state_of(const Node& node, const Contraction&, std::size_t output) const;
  Found state_of(const Node& node, const View&, std::size_t output) const;
  Found state_of(const Node&, const Composite&, std::size_t) const { return std::nullopt; }
  Found state_of(const Node&, const Opaque&, std::size_t) const { return std::nullopt; }
  Found state_of(const Node&, const Region&, std::size_t) const { return std::nullopt; }
  Found affine(const Node& node, const ViewMap& map) const;
  Found reshaped(const Node& node, const ViewMap& map) const;
  Found concatenated(const Node& node, const ViewMap& map) const;
  bool find_in_body(const Node& node);
  bool reads_rows(NodeId id) const;
  bool depends(Dim d) const;
  bool depends(const Type& type) const;
  static Found rows_along(std::optional<std::size_t> axis);
  /// Returns the only axis whose extent is the number of rows; nullopt if another one depends on it.
  std::optional<std::size_t> only_axis(const Shape& shape) const;

  Graph graph_;  // with the bodies of composites while they are visited
  const SymbolId rows_;
  const Dim count_;
  const std::span<const Served> served_;
  std::vector<State> states_;
};

}  // namespace frazil::pass
