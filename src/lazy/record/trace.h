#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/edit/builder.h"
#include "lazy/record/node.h"

namespace frazil::lazy {

/// A graph that is recorded from code: while it is the thread's current one, operations become nodes of the block that
/// is open in it, and values that are there become constants.
class Trace {
 public:
  explicit Trace(std::string name);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The thread's current trace; null: operations are recorded as pending nodes.
  static Trace* current();

  Builder& to() { return *blocks_.back(); }
  const Graph& graph() const { return graph_; }
  /// Whether a traced node is of this recording.
  bool owns(const Node& node) const { return node.trace == number_; }
  Handle input(std::string_view name, Type type);
  /// The value of the graph for a value of the program. Code::bad_input for one of another trace.
  Result<Value> value_of(const Ref& ref);
  /// Values of the graph as the results of one node.
  Handle handle_of(std::span<const Value> values);
  Result<Handle> record(const Operation& operation, std::span<const Ref> inputs, const Place& place);

  /// Opens a body of a region, until close_block().
  void open_block(BlockId block) { blocks_.push_back(std::make_unique<Builder>(graph_, block)); }
  void close_block() { blocks_.pop_back(); }
  /// A body was left before its end: the graph is of no more use.
  void abandon() { abandoned_ = true; }
  /// The graph; the trace is of no more use.
  Graph take() { return std::move(graph_); }

 private:
  /// Whether nodes of the open block may use a value of the graph.
  bool is_open(Value value) const;

  const std::uint64_t number_;  // of no other one
  Graph graph_;
  std::vector<std::unique_ptr<Builder>> blocks_;
  std::unordered_map<const Held*, Value> constants_;
  std::vector<Handle> kept_;  // so that no other value takes the place of a constant's
  Trace* outer_;
  bool abandoned_ = false;
};

}  // namespace frazil::lazy
