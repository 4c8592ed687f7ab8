#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ir/edit/builder.h"

namespace frazil {

/// An edit of a finished graph, which stays unchanged. The patch collects changes; commit() returns a new graph or the
/// first error.
///
///   Patch patch(graph, "relu to clip");
///   Expr x = patch.tap(graph.node(relu).in[0]);
///   patch.replace(graph.node(relu).out[0], Clip({x, low, high}));
///   Result<Graph> edited = std::move(patch).commit();
///
/// New nodes are placed where the value that they replace is defined, or after the last value that they use if that is
/// later. Nodes that become unused remain; a pass removes them.
class Patch {
 public:
  /// `graph` must outlive the patch.
  Patch(const Graph& graph, std::string name);
  ~Patch();
  Patch(Patch&&) noexcept;
  Patch& operator=(Patch&&) noexcept;

  /// Returns a value of the graph for use in new nodes. It means the value before this patch.
  Expr tap(Value old);
  /// Returns the builder of new nodes, constants, inputs and outputs. It may use tapped values.
  Builder& build();

  /// Replaces every use of `old` by `with`, also in nested blocks and results. New nodes keep the values that they
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
  /// Renames a value. A replaced value that is still used shares its name with its replacement, unless it is renamed.
  void rename(Value old, std::string_view name);
  void remove_graph_output(std::string_view name);
  /// Moves the nodes that only body `body` of the new node `region` needs into that body. These are the nodes whose
  /// results are used only there or by nodes that move. Nodes that make a value of `keep` stay. commit() fails if a
  /// node that makes a result of the body cannot move.
  void sink(NodeId region, std::size_t body, std::vector<Value> keep = {});

  /// Returns the first error so far.
  const Status& status() const;
  /// Returns the new graph, with types inferred again, or an error that names the patch.
  Result<Graph> commit() &&;
  /// Returns a text such as "patch 'relu to clip': 2 new nodes (Max, Min); %5 replaced; node 'relu_1' (Relu) removed".
  std::string str() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace frazil
