#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/edit/builder.h"

namespace frazil {

/// Copies nodes of one graph, with their bodies, to the end of a block of another graph. Types are inferred again.
class NodeCopier {
 public:
  /// `outer` maps values that are neither bound nor copied. Without it, constants are copied.
  NodeCopier(const Graph& from, Graph& to, std::function<Value(Value)> outer = {})
      : from_(from), to_(to), outer_(std::move(outer)) {}

  /// Maps `from` to `to` for nodes that are copied later.
  void bind(Value from, Value to) { now_[from.id] = to; }
  bool is_bound(Value from) const { return now_.contains(from.id); }
  /// Returns the value that `from` maps to. Values other than constants must be bound, copied or mapped by `outer`.
  Value now(Value from);
  std::vector<Value> now(const std::vector<Value>& from);
  /// Returns the type of a value in the other graph, whose symbols have the same names. Returns nullopt if the value is
  /// not a ranked tensor, or if an extent is neither a number nor a symbol.
  std::optional<Type> type_of(Value from, Builder& to) const;
  /// Copies a node to the block of `to`, under `name` if given, else under its own name. Not recursive.
  Status copy(NodeId id, Builder& to, std::string_view name = {});

 private:
  struct Open;
  Status begin(NodeId id, Builder& to, std::string_view name, std::vector<Open>& open);
  void enter(const Open& region);
  void bind_outputs(const Node& node, NodeId made, Builder& to, bool renamed);
  static std::vector<bool> wanted(const Node& node);

  const Graph& from_;
  Graph& to_;
  std::function<Value(Value)> outer_;
  std::unordered_map<std::uint32_t, Value> now_;  // by value of from_
};

}  // namespace frazil
