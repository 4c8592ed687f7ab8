#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/edit/builder.h"

namespace frazil {

/// Copies nodes of one graph, with their bodies, to the end of a block of another graph; types are inferred anew.
class NodeCopier {
 public:
  /// `outer`: what stands for values that are neither bound nor copied; without it, constants are copied.
  NodeCopier(const Graph& from, Graph& to, std::function<Value(Value)> outer = {})
      : from_(from), to_(to), outer_(std::move(outer)) {}

  /// `to` stands for `from` from now on.
  void bind(Value from, Value to) { now_[from.id] = to; }
  bool is_bound(Value from) const { return now_.contains(from.id); }
  /// The value that stands for `from`. Anything but constants must be bound, copied or known to `outer`.
  Value now(Value from);
  std::vector<Value> now(const std::vector<Value>& from);
  /// The type of a value in the other graph, whose symbols have the same names; none where an extent is neither a
  /// number nor a symbol, or the value is no ranked tensor.
  std::optional<Type> type_of(Value from, Builder& to) const;
  /// Copies a node to the block of `to`, under its name or, where `name` is given, under that. Not recursive.
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
