#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/edit/builder.h"
#include "lazy/record/node.h"

namespace frazil::lazy {

/// A graph that is being recorded from code. While it is the thread's current trace, operations become nodes of its
/// open block, and computed values become constants.
class Trace {
 public:
  explicit Trace(std::string name);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Returns the thread's current trace. If it is null, operations are recorded as pending nodes.
  static Trace* current();

  Builder& to() { return *blocks_.back(); }
  const Graph& graph() const { return graph_; }
  /// Returns whether a traced node belongs to this recording.
  bool owns(const Node& node) const { return node.trace == number_; }
  Handle input(std::string_view name, Type type);
  /// Returns the graph's value for a value of the program. Returns Code::bad_input for a value of another trace.
  Result<Value> value_of(const Ref& ref);
  /// Returns values of the graph as the results of one node.
  Handle handle_of(std::span<const Value> values);
  Result<Handle> record(const Operation& operation, std::span<const Ref> inputs, const Place& place);

  /// Opens a body of a region. close_block() closes it.
  void open_block(BlockId block) { blocks_.push_back(std::make_unique<Builder>(graph_, block)); }
  void close_block() { blocks_.pop_back(); }
  /// Makes the graph unusable, because a body was left before its end.
  void abandon() { abandoned_ = true; }
  /// Returns the graph. The trace must not be used afterwards.
  Graph take() { return std::move(graph_); }

 private:
  /// Returns whether nodes of the open block may use a value of the graph.
  bool is_open(Value value) const;

  const std::uint64_t number_;  // unique
  Graph graph_;
  std::vector<std::unique_ptr<Builder>> blocks_;
  std::unordered_map<const Held*, Value> constants_;
  std::vector<Handle> kept_;  // so that the addresses in constants_ are not reused
  Trace* outer_;
  bool abandoned_ = false;
};

}  // namespace frazil::lazy
