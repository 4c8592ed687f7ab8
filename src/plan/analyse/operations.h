#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/op/op.h"

namespace frazil {

/// Scalar operations that a node performs.
struct Operations {
  enum class Kind : std::uint8_t {
    element,  ///< `each` at each of `points` elements
    product,  ///< `each` at each of `points` points of a contraction's space
    linear,
    sorting,
    quadratic,
    cubic,  ///< an Opaque over `points` elements, see Opaque::Work; `each` is unused
  };
  Kind kind;
  double each;
  Dim points;
};

/// The work of one node, apart from its blocks.
struct NodeWork {
  std::vector<Operations> terms;
  std::vector<NodeId> inner;  ///< the nodes that replace a composite
  /// How often each block of a Loop or a Scan runs at most; 1 for an If. nullopt for other nodes, and if only a run
  /// determines it.
  std::optional<Dim> trips;
  bool known = true;  ///< false: a part of the work has no form from which to count it, also the trips
};

/// Reads the work of nodes from their forms. Works on a copy of the graph, since rules and bodies write to it. Not
/// thread-safe.
class OperationReader {
 public:
  explicit OperationReader(const Graph& graph) : graph_(graph) {}

  NodeWork work_of(NodeId id);
  /// The copy, which has the nodes of NodeWork::inner.
  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  Dim product(Dim a, Dim b);

 private:
  bool is_shape_arithmetic(NodeId id) const;
  bool reads_text(NodeId id) const;
  void visit(const Elementwise& form, NodeId id, NodeWork& work);
  void visit(const Contraction& form, NodeId id, NodeWork& work);
  void visit(const View&, NodeId, NodeWork&) {}
  void visit(const Opaque& form, NodeId id, NodeWork& work);
  void visit(const Composite& form, NodeId id, NodeWork& work);
  void visit(const Region& form, NodeId id, NodeWork& work);
  Dim points_of(Value value);

  Graph graph_;
};

}  // namespace frazil
