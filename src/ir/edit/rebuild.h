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
  /// False: the graph is written from nothing.
  virtual bool keeps_rows() const { return true; }
  /// False: the types of a node are inferred again although its inputs have not changed.
  virtual bool keeps_types(NodeId) const { return true; }
  /// Called first. `now` maps a value of `from` to the new one, or to none before that is written; it may be called
  /// until the rebuild ends.
  virtual void begin(const Graph& /*from*/, const std::function<Value(Value)>& /*now*/) {}
  /// The new type of input `index` of the graph. The input keeps its default only if the type is unchanged.
  virtual Type input_type(const Graph& from, std::size_t index, Builder& /*to*/) {
    return from.type(from.main().params[index]);
  }
  /// Called at the end of a block with its results in the new graph. May change them and add nodes.
  virtual Status end(const Graph& /*from*/, BlockId /*block*/, Builder& /*to*/, std::vector<Value>& /*results*/) {
    return {};
  }
  /// True for a node that is omitted, with its blocks; its results must be unused.
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
  /// Called for every region before `open`: nullopt keeps it; otherwise `splice`, if set, or `outputs` replace it.
  struct Inlined {
    std::optional<Splice> splice;
    std::vector<Value> outputs;
  };
  virtual Result<std::optional<Inlined>> inlines(const Graph& /*from*/, NodeId /*node*/, Builder& /*to*/,
                                                 std::span<const Value> /*inputs*/) {
    return std::nullopt;
  }
  /// Called after a spliced block with its results; returns the next splice for the same region, or its outputs.
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
  /// Called for a node that `rewrite` left as it is, once its copy is there.
  virtual void copied(const Graph& /*to*/, NodeId /*copy*/) {}
  /// False when the new value of `old` is not equal to it; then it does not take its name.
  virtual bool keeps_elements(Value /*old*/) { return true; }
};

/// Rewrites `from` through `rewriter`, and infers again the types that may differ. Takes time for what changes, and a
/// short step for each other node, which keeps its handle (graphs whose types assume something are written from
/// nothing, see Rewriter::keeps_rows). Names and stable ids are kept; nodes
/// that replace a node take its name, and the producer of its first result takes its stable id. A node at which types
/// assume something (Assumption) is not dropped, and only nodes that assume the same replace it. Not recursive.
Result<Graph> rebuild(const Graph& from, Rewriter& rewriter);
/// Returns what the graph's types assume.
Choices choices_of(const Graph& graph);
/// The same graph with types that follow `choices`.
Result<Graph> rebuild(const Graph& from, const Choices& choices);

}  // namespace frazil
