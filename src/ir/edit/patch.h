#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ir/edit/builder.h"

namespace frazil {

/// An edit of a finished graph, which stays unchanged: collects changes, and commit() makes a new graph, or returns the
/// first error.
///
///   Patch patch(graph, "relu to clip");
///   Expr x = patch.tap(graph.node(relu).in[0]);
///   patch.replace(graph.node(relu).out[0], Clip({x, low, high}));
///   Result<Graph> edited = std::move(patch).commit();
///
/// New nodes are placed where the value they replace is defined, or after the last value they use if that is later.
/// Nodes that become unused remain; a pass removes them.
class Patch {
 public:
  /// `graph` must outlive the patch.
  Patch(const Graph& graph, std::string name);
  ~Patch();
  Patch(Patch&&) noexcept;
  Patch& operator=(Patch&&) noexcept;

  /// A value of the graph for use in new nodes; it means the value before this patch.
  Expr tap(Value old);
  /// Makes new nodes, constants, inputs and outputs. Tapped values may be used in it.
  Builder& build();

  /// Replaces every use of `old`, including nested blocks and results, by `with`; new nodes keep the values they
  /// tapped. Kinds, element types and ranks must agree, and no extent may be provably different.
  void replace(Value old, Expr with);
  /// Replaces each wanted output and removes the node. New nodes must not tap its outputs.
  void replace_node(NodeId id, std::span<const Expr> with);
  /// Removes a node; its outputs must have no uses once the patch is applied.
  void remove(NodeId id);
  /// Removes an unused output; at least one must remain.
  void drop_output(NodeId id, std::size_t index);
  void set_attribute(NodeId id, std::string_view name, const AttrValue& value);
  void rename(NodeId id, std::string_view name);
  /// A value that is replaced and still used has its name beside what replaces it, unless it gets another one.
  void rename(Value old, std::string_view name);
  void remove_graph_output(std::string_view name);
  /// Moves the nodes that only body `body` of the new node `region` needs into it: those whose results are used there,
  /// or by nodes that move, and nowhere else. Nodes that make a value of `keep` stay. commit() fails if a node that
  /// makes a result of the body cannot move.
  void sink(NodeId region, std::size_t body, std::vector<Value> keep = {});

  /// The first error so far.
  const Status& status() const;
  /// The new graph, with types inferred again, or an error that names the patch.
  Result<Graph> commit() &&;
  /// "patch 'relu to clip': 2 new nodes (Max, Min); %5 replaced; node 'relu_1' (Relu) removed".
  std::string str() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace frazil
