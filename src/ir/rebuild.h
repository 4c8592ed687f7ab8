#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ir/builder.h"

namespace frazil {

/// Decides node by node how a graph is written anew. Passes and Patch are Rewriters.
class Rewriter {
 public:
  virtual ~Rewriter() = default;
  /// Called first. `now` gives the new value of one of `from`, none before that is written, while the rebuild lasts.
  virtual void begin(const Graph& /*from*/, std::function<Value(Value)> /*now*/) {}
  /// The new type of input `index` of the graph, which keeps its default only where the type stays.
  virtual Type input_type(const Graph& from, std::size_t index, Builder& /*to*/) {
    return from.type(from.main().params[index]);
  }
  /// Called at the end of a block with its results in the new graph, which may be changed; nodes can be added.
  virtual Status end(const Graph& /*from*/, BlockId /*block*/, Builder& /*to*/, std::vector<Value>& /*results*/) {
    return {};
  }
  /// True for a node, with its blocks, that is left out; nobody may use its results.
  virtual bool drops(const Graph&, NodeId) { return false; }
  /// Called before region `node` is begun in `outer`'s block; may add nodes there and change the region's inputs, by
  /// which the params of its blocks are typed. `now` gives the new value of one that is visible there.
  virtual Status open(const Graph& /*from*/, NodeId /*node*/, Builder& /*outer*/,
                      const std::function<Value(Value)>& /*now*/, std::vector<Value>& /*inputs*/) {
    return {};
  }
  /// A block of a region whose nodes stand in the region's place, with what its params are there.
  struct Splice {
    std::size_t block = 0;
    std::vector<Value> params;
  };
  /// Asked for every region before `open`: nullopt keeps it; else `splice` is put in its place if it is given, or
  /// `outputs` take the place of the region's.
  struct Inlined {
    std::optional<Splice> splice;
    std::vector<Value> outputs;
  };
  virtual Result<std::optional<Inlined>> inlines(const Graph& /*from*/, NodeId /*node*/, Builder& /*to*/,
                                                 std::span<const Value> /*inputs*/) {
    return std::nullopt;
  }
  /// Called behind a spliced block with its results: the next splice in place of the same region, or its outputs.
  virtual Result<Inlined> spliced(const Graph& /*from*/, NodeId /*node*/, Builder& /*to*/,
                                  std::span<const Value> /*results*/) {
    return Inlined{};
  }
  /// Called for every other node that is not a region, in order. It may add nodes to blocks around that of `to`, too.
  /// `inputs` are its inputs in the new graph. Gives one new value per output of the node, or nullopt to copy the node
  /// as it is.
  virtual Result<std::optional<std::vector<Value>>> rewrite(const Graph& /*from*/, NodeId /*node*/, Builder& /*to*/,
                                                            std::span<const Value> /*inputs*/) {
    return std::nullopt;
  }
  /// The value to use wherever `old` (now `now`) is used; for Patch.
  virtual Value redirect(Value, Value now) { return now; }
};

/// Writes `from` anew through `rewriter`, with all types inferred again. Names and stable ids stay; nodes that replace
/// one take its name, and the maker of its first result takes its stable id. No native recursion.
Result<Graph> rebuild(const Graph& from, Rewriter& rewriter);
/// The sides that the graph's types follow now.
Choices choices_of(const Graph& graph);
/// The same graph with types that follow `choices`.
Result<Graph> rebuild(const Graph& from, const Choices& choices);

}  // namespace frazil
