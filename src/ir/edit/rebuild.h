#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ir/edit/builder.h"

namespace frazil {

/// Decides node by node how a graph is rewritten. Passes and Patch are Rewriters.
class Rewriter {
 public:
  virtual ~Rewriter() = default;
  /// Returns false if all nodes must be copied to an empty graph.
  virtual bool keeps_rows() const { return true; }
  /// Returns false if the types of a node must be inferred again even if its inputs have not changed.
  virtual bool keeps_types(NodeId) const { return true; }
  /// Called first. `now` maps a value of `from` to the new one, or to none if the new one is not written yet. It may be
  /// called until the rebuild ends.
  virtual void begin(const Graph& /*from*/, const std::function<Value(Value)>& /*now*/) {}
  /// Returns the new type of input `index` of the graph. The input keeps its default only if the type is unchanged.
  virtual Type input_type(const Graph& from, std::size_t index, Builder& /*to*/) {
    return from.type(from.main().params[index]);
  }
  /// Called at the end of a block with its results in the new graph. May change them and add nodes.
  virtual Status end(const Graph& /*from*/, BlockId /*block*/, Builder& /*to*/, std::vector<Value>& /*results*/) {
    return {};
  }
  /// Returns true for a node to omit, with its blocks. Its results must be unused.
  virtual bool drops(const Graph&, NodeId) { return false; }
  /// Called before region `node` is started in `outer`'s block. May add nodes there and change the region's inputs,
  /// from which the params of its blocks are typed. `now` maps a visible old value to the new one.
  virtual Status open(const Graph& /*from*/, NodeId /*node*/, Builder& /*outer*/,
                      const std::function<Value(Value)>& /*now*/, std::vector<Value>& /*inputs*/) {
    return {};
  }
  /// A block of a region whose nodes replace the region, with values for its params.
  struct Splice {
    std::size_t block = 0;
    std::vector<Value> params;
  };
  /// The replacement of a region: `splice` if set, else `outputs`. inlines() is called for every region before open();
  /// nullopt keeps the region.
  struct Inlined {
    std::optional<Splice> splice;
    std::vector<Value> outputs;
  };
  virtual Result<std::optional<Inlined>> inlines(const Graph& /*from*/, NodeId /*node*/, Builder& /*to*/,
                                                 std::span<const Value> /*inputs*/) {
    return std::nullopt;
  }
  /// Called after a spliced block with its results. Returns the next splice for the same region, or its outputs.
  virtual Result<Inlined> spliced(const Graph& /*from*/, NodeId /*node*/, Builder& /*to*/,
                                  std::span<const Value> /*results*/) {
    return Inlined{};
  }
  /// Called for every other node, except regions, in order. May also add nodes to enclosing blocks of `to`. `inputs`
  /// are the node's inputs in the new graph. Returns one new value per output, or nullopt to copy the node.
  virtual Result<std::optional<std::vector<Value>>> rewrite(const Graph& /*from*/, NodeId /*node*/, Builder& /*to*/,
                                                            std::span<const Value> /*inputs*/) {
    return std::nullopt;
  }
  /// Called for a node that rewrite() did not replace, after it has been copied.
  virtual void copied(const Graph& /*to*/, NodeId /*copy*/) {}
  /// Returns false if the new value of `old` is not equal to it. The new value then does not take its name.
  virtual bool keeps_elements(Value /*old*/) { return true; }
};

/// Rewrites `from` through `rewriter`, and infers again the types that may differ. The time depends on what changes: a
/// node that does not change keeps its handle and costs some nanoseconds. If types of the graph assume something, or if
/// the rewriter requires it, all nodes are copied.
/// Names and stable ids are kept. Nodes that replace a node take its name, and the producer of its first result takes
/// its stable id. A node on which types depend (Assumption) is not dropped. Only nodes with the same assumption replace
/// it. Not recursive.
Result<Graph> rebuild(const Graph& from, Rewriter& rewriter);
/// Returns what the graph's types assume.
Choices choices_of(const Graph& graph);
/// Returns the same graph with types that follow `choices`.
Result<Graph> rebuild(const Graph& from, const Choices& choices);

}  // namespace frazil
