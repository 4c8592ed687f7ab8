#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/limits/limits.h"
#include "onnx/read/wire.h"

namespace frazil::onnx {

/// The nodes of a graph or of a function's body, one at a time.
class NodeList {
 public:
  NodeList() = default;
  /// As they stand in the message.
  NodeList(Bytes whole, Tag tag) : rest_(whole), tag_(tag) {}
  /// In the order of `nodes`, which must outlive the list.
  explicit NodeList(std::span<const Bytes> nodes) : nodes_(nodes) {}

  /// nullopt behind the last node.
  Result<std::optional<Bytes>> next();

 private:
  Reader rest_;
  Tag tag_ = kGraphNode;
  std::span<const Bytes> nodes_;
};

/// Sorts nodes that stand before a node whose outputs they read. A sorted body keeps its order exactly; in others a
/// node moves only in front of the first one that needs it.
///
/// A name refers to the innermost definition before its use, as in a sorted file; where there is none, to the innermost
/// one behind it. What a subgraph reads from outside counts as read by the node that holds it. The time is linear in
/// the bytes of the messages, without those of tensors; nothing recurses.
class NodeOrder {
 public:
  /// Bodies of more nodes in total, with those of subgraphs, are Code::limit: more than the limit, or more than a file
  /// of so many bytes can hold where attributes that stand for the same graph are few.
  NodeOrder(const LoadLimits& limits, std::size_t file_bytes)
      : max_nodes_(std::min<std::uint64_t>(limits.nodes, kAnyNodes + file_bytes)), max_nesting_(limits.nesting) {}

  /// Reads a body and all graphs inside it. What cannot be read stays as it is: the import finds the fault and its
  /// place. A function, which must stay where it is, is read once.
  Status scan(const GraphParts& graph);
  Status scan(const FunctionParts& function);

  /// The nodes of a graph or function that has been scanned, or is inside of one.
  NodeList nodes(Bytes whole, Tag tag) const;
  /// Nodes of which each reads an output of the next, and the last one of the first. Empty: the body has no cycle.
  std::span<const Bytes> cycle(Bytes whole) const;

  static std::unexpected<Fault> too_many_nodes(std::uint64_t limit);

 private:
  class Scan;
  struct Sorted {
    std::vector<Bytes> nodes;
    std::vector<Bytes> cycle;
  };

  static constexpr std::uint64_t kAnyNodes = std::uint64_t{1} << 17;
  std::uint64_t max_nodes_, max_nesting_;
  std::uint64_t seen_nodes_ = 0;
  std::unordered_map<const std::byte*, Sorted> sorted_;  ///< by the first byte of bodies that were not sorted
  std::unordered_set<const FunctionParts*> scanned_;
};

/// The subgraph of an AttributeProto, if it holds one.
Result<std::optional<Bytes>> subgraph_of(Bytes attribute);

}  // namespace frazil::onnx
