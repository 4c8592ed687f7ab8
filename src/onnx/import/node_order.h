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

/// The nodes of a graph or of the body of a function, read one at a time.
class NodeList {
 public:
  NodeList() = default;
  /// Lists the nodes in the order of the message.
  NodeList(Bytes whole, Tag tag) : rest_(whole), tag_(tag) {}
  /// Lists the nodes in the order of `nodes`, which must outlive the list.
  explicit NodeList(std::span<const Bytes> nodes) : nodes_(nodes) {}

  /// Returns the next node, or nullopt after the last one.
  Result<std::optional<Bytes>> next();

 private:
  Reader rest_;
  Tag tag_ = kGraphNode;
  std::span<const Bytes> nodes_;
};

/// A topological sort of bodies in which a node precedes a node whose outputs it reads. A sorted body keeps its order
/// exactly. In other bodies, a node moves only to before the first node that needs it.
///
/// A name refers to the innermost definition before its use, as in a sorted file. Without one, it refers to the
/// innermost definition after its use. A node reads all values that its subgraphs read from outside. The time is linear
/// in the bytes of the messages, without those of tensors. Nothing recurses.
class NodeOrder {
 public:
  /// Sets the limit of the total number of nodes in bodies and their subgraphs; more are Code::limit. It is at most
  /// `limits.nodes`. It also depends on the bytes of the file: a file can exceed it only if many attributes refer to
  /// the same graph.
  NodeOrder(const LoadLimits& limits, std::size_t file_bytes)
      : max_nodes_(std::min<std::uint64_t>(limits.nodes, kAnyNodes + file_bytes)), max_nesting_(limits.nesting) {}

  /// Reads a body and all graphs inside it. An unreadable part stays unchanged: the import reports the fault and its
  /// position. A function, which must keep its address, is read once.
  Status scan(const GraphParts& graph);
  Status scan(const FunctionParts& function);

  /// Returns the nodes of a scanned graph or function, or of a graph inside it.
  NodeList nodes(Bytes whole, Tag tag) const;
  /// Returns the nodes of a cycle, or none if the body has no cycle. Each node reads an output of the next one, and the
  /// last node reads one of the first.
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
  std::unordered_map<const std::byte*, Sorted> sorted_;  ///< by the first byte of each body that was not sorted
  std::unordered_set<const FunctionParts*> scanned_;
};

/// Returns the subgraph of an AttributeProto, if it holds one.
Result<std::optional<Bytes>> subgraph_of(Bytes attribute);

}  // namespace frazil::onnx
