#include "lazy/program/cone.h"

#include <algorithm>
#include <atomic>

#include "lazy/record/extents.h"

namespace frazil::lazy {
namespace {

constexpr std::uint64_t kLeaf = 1ULL << 63U;

NodeKind leaf_kind(const Node& node) {
  return node.kind == NodeKind::parameter || node.kind == NodeKind::literal ? node.kind : NodeKind::value;
}

/// A writer of the key of a cone. The nodes of the cone must be in order.
class KeyWriter {
 public:
  explicit KeyWriter(Cone& cone) : cone_(cone) {}

  void node(Node& node) {
    cone_.key.push_back(static_cast<std::uint64_t>(node.operation->id) << 32U | node.inputs);
    for (const Ref& input : node.in()) cone_.key.push_back(word_of(input));
  }
  void result(const Ref& result) { cone_.key.push_back(inside(result)); }

 private:
  static std::uint64_t inside(const Ref& ref) {
    return static_cast<std::uint64_t>(ref.node->number) << 16U | ref.output;
  }

  std::uint64_t word_of(const Ref& input) {
    if (input.node == nullptr) return ~0ULL;
    if (input.node->pending()) return inside(input);
    const auto known = std::ranges::find(cone_.leaves, input);
    const auto number = static_cast<std::uint64_t>(known - cone_.leaves.begin());
    if (known == cone_.leaves.end()) leaf(input);
    return kLeaf | number;
  }

  void leaf(const Ref& input) {
    cone_.leaves.push_back(input);
    const Output& output = input.node->out()[input.output];
    const auto kind = static_cast<std::uint64_t>(leaf_kind(*input.node));
    if (output.type == nullptr) return cone_.key.push_back(kLeaf | kind << 8U | 0xffU);  // not a tensor
    cone_.key.push_back(kLeaf | kind << 8U | static_cast<std::uint64_t>(output.type->elem) << 16U |
                        output.type->sizes.size() << 32U);
    if (input.node->kind == NodeKind::parameter) {
      return cone_.key.push_back(reinterpret_cast<std::uint64_t>(output.block.get()));
    }
    const bool literal = input.node->kind == NodeKind::literal;
    for (const std::int64_t extent : output.type->sizes) {
      cone_.key.push_back(literal ? static_cast<std::uint64_t>(extent) : extents_.class_of(extent));
    }
    if (literal) elements(output);
  }

  void elements(const Output& output) {
    const std::byte* data = output.data();
    for (std::size_t at = 0; at < output.type->bytes; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::copy_n(data + at, std::min(sizeof word, output.type->bytes - at), reinterpret_cast<std::byte*>(&word));
      cone_.literals.push_back(word);
    }
  }

  Cone& cone_;
  Extents extents_;
};

void add_node(Node& node, Cone& cone) {
  node.number = static_cast<std::uint32_t>(cone.nodes.size());
  node.uses = 0;
  cone.nodes.push_back(&node);
}

/// Visits the pending nodes below the wanted values, without recursion. Returns false if there are more than `most`.
bool order(std::span<const Ref> wanted, const ConeSize& most, std::uint32_t mark, Cone& cone) {
  std::size_t calls = 0;
  struct Visit {
    Node* node;
    std::size_t next;
  };
  thread_local std::vector<Visit> stack;
  stack.clear();
  const auto enter = [&](Node* node) {
    if (node == nullptr || !node->pending() || node->mark == mark) return;
    node->mark = mark;
    stack.push_back({node, 0});
  };
  for (const Ref& each : wanted) {
    enter(each.node);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next < visit.node->inputs) {
        enter(visit.node->in()[visit.next++].node);
      } else {
        add_node(*visit.node, cone);
        stack.pop_back();
        if (cone.nodes.back()->operation->function != nullptr) ++calls;
        if (cone.nodes.size() > most.nodes || calls > most.calls) return false;
      }
    }
  }
  return true;
}

/// Counts the uses of each node inside the cone. A node with more references than that is a result.
void find_results(std::span<const Ref> wanted, Cone& cone) {
  for (const Ref& each : wanted) {
    if (each.node->pending() && std::ranges::find(cone.results, each) == cone.results.end())
      cone.results.push_back(each);
  }
  for (Node* const node : cone.nodes) {
    for (const Ref& input : node->in()) {
      if (input.node != nullptr && input.node->pending()) ++input.node->uses;
    }
  }
  for (Node* const node : cone.nodes) {
    if (node->refs <= node->uses) continue;
    for (std::uint32_t k = 0; k < node->outputs; ++k) {
      if (std::ranges::find(cone.results, Ref{node, k}) == cone.results.end()) cone.results.push_back({node, k});
    }
  }
}

void write_key(Cone& cone) {
  KeyWriter key(cone);
  cone.key.push_back(cone.nodes.size());
  for (Node* const node : cone.nodes) key.node(*node);
  for (const Ref& result : cone.results) key.result(result);
}

}  // namespace

void Cone::clear() {
  nodes.clear();
  leaves.clear();
  results.clear();
  key.clear();
  literals.clear();
}

bool has_large_results(std::span<Node* const> nodes) {
  constexpr std::size_t kLarge = 64U << 20U;
  std::size_t bytes = 0;
  for (Node* const node : nodes) {
    for (const Output& output : node->out()) {
      if (output.type == nullptr) continue;
      if (output.type->bytes >= kLarge - bytes) return true;
      bytes += output.type->bytes;
    }
  }
  return false;
}

std::uint32_t next_mark() {
  constexpr std::uint32_t kAtOnce = 1U << 10U;  // numbers that a thread reserves at a time
  static std::atomic<std::uint32_t> untaken = 1;
  thread_local std::uint32_t next = 0, end = 0;
  if (next == end) {
    next = untaken.fetch_add(kAtOnce, std::memory_order_relaxed);
    end = next + kAtOnce;
  }
  return next++;
}

bool collect(std::span<const Ref> wanted, const ConeSize& most, Cone& cone) {
  cone.clear();
  const std::uint32_t mark = next_mark();
  if (!order(wanted, most, mark, cone)) return false;
  find_results(wanted, cone);
  write_key(cone);
  return true;
}

void collect_part(std::span<Node* const> nodes, Cone& cone) {
  cone.clear();
  const std::uint32_t mark = next_mark();
  for (Node* const node : nodes) {
    node->mark = mark;
    add_node(*node, cone);
  }
  find_results({}, cone);
  write_key(cone);
}

}  // namespace frazil::lazy
