#include "pass/engine/cse.h"

#include <algorithm>
#include <unordered_map>

#include "base/value/hash.h"
#include "ir/edit/rebuild.h"
#include "ir/graph/key.h"
#include "pass/engine/rules.h"

namespace frazil::pass {
namespace {

bool may_merge(const Graph& graph, const Node& node, std::span<const Value> in) {
  if (!node.blocks.empty() || node.op->stateful) return false;
  if (!std::holds_alternative<Composite>(node.op->form)) return true;
  // A composite that cannot be expanded until its operands' ranks are known may draw random numbers.
  return std::ranges::all_of(in, [&](Value v) { return !v || !graph.type(v).is_tensor() || graph.type(v).ranked; });
}

/// The nodes that later nodes may duplicate, visited so far in execution order: those of the current block and of the
/// blocks around it.
class Seen {
 public:
  explicit Seen(const Graph& graph) : graph_(graph) {}

  /// Returns an earlier node with the same results as `node` of `block` on inputs `in`; nullopt if there is none.
  std::optional<NodeId> find(const Node& node, std::span<const Value> in, BlockId block) {
    enter(block);
    const auto [first, last] = nodes_.equal_range(hash(node, in));
    for (auto it = first; it != last; ++it) {
      if (is_equal(graph_.node(it->second), node, in)) return it->second;
    }
    return std::nullopt;
  }
  /// Adds a node. The last call of find() must have been with the node's block.
  void add(NodeId id) {
    const std::size_t key = hash(graph_.node(id), graph_.node(id).in);
    nodes_.emplace(key, id);
    open_.back().second.emplace_back(key, id);
  }

 private:
  using Entry = std::pair<std::size_t, NodeId>;

  void forget(const Entry& entry) {
    auto [it, last] = nodes_.equal_range(entry.first);
    it = std::find_if(it, last, [&](const auto& known) { return known.second == entry.second; });
    if (it != last) nodes_.erase(it);
  }

  /// Removes the nodes of blocks that have ended.
  void enter(BlockId block) {
    std::vector<BlockId> inner;
    for (BlockId b = block; b.id >= is_open_.size() || !is_open_[b.id]; b = graph_.block(b).parent) {
      inner.push_back(b);
      if (b == Graph::kMain) break;
    }
    const BlockId outer = inner.empty() ? block : graph_.block(inner.back()).parent;
    while (!open_.empty() && open_.back().first != outer) {
      std::ranges::for_each(open_.back().second, [&](const Entry& e) { forget(e); });
      is_open_[open_.back().first.id] = false;
      open_.pop_back();
    }
    if (is_open_.size() < graph_.block_count()) is_open_.resize(graph_.block_count());
    for (std::size_t i = inner.size(); i-- > 0;) {
      is_open_[inner[i].id] = true;
      open_.emplace_back(inner[i], std::vector<Entry>{});
    }
  }

  /// Returns one value for all small constants of equal content; other values as they are.
  Value canonical(Value v) {
    constexpr std::size_t kSmall = 256;
    const Constant* c = v ? graph_.constant(v) : nullptr;
    if (!c || c->tensor.bytes() > kSmall || c->tensor.elem() == Elem::string || !c->tensor.contiguous()) return v;
    const auto [it, is_new] = same_.try_emplace(v.id, v);
    if (!is_new) return it->second;
    const std::string_view bytes(reinterpret_cast<const char*>(c->tensor.data()), c->tensor.bytes());
    auto [first, last] = constants_.equal_range(std::hash<std::string_view>{}(bytes));
    for (; first != last; ++first) {
      if (same_bits(graph_.constant(first->second)->tensor, c->tensor)) return same_[v.id] = first->second;
    }
    constants_.emplace(std::hash<std::string_view>{}(bytes), v);
    return v;
  }

  static bool same_bits(const Tensor& a, const Tensor& b) {
    return a.elem() == b.elem() && a.sizes() == b.sizes() && std::equal(a.data(), a.data() + a.bytes(), b.data());
  }

  std::size_t hash(const Node& node, std::span<const Value> in) {
    std::size_t h = std::hash<const void*>{}(node.op) + node.out.size();
    while (!in.empty() && !in.back()) in = in.first(in.size() - 1);
    for (Value v : in) h = (h ^ canonical(v).id) * 0x9e3779b97f4a7c15u + (h >> 29);
    return Hasher().add(h).add(Key().add_attributes(node).bytes()).value();
  }

  bool is_equal(const Node& a, const Node& b, std::span<const Value> in) {
    const auto value = [](std::span<const Value> list, std::size_t i) { return i < list.size() ? list[i] : Value{}; };
    const auto wanted = [](Value x, Value y) { return static_cast<bool>(x) == static_cast<bool>(y); };
    if (a.op != b.op || !std::ranges::equal(a.out, b.out, wanted)) return false;
    for (std::size_t i = 0; i < std::max(a.in.size(), in.size()); ++i) {
      if (canonical(value(a.in, i)) != canonical(value(in, i))) return false;
    }
    return same(a.op->attrs, a.attrs.get(), b.attrs.get());
  }

  const Graph& graph_;
  std::unordered_multimap<std::size_t, NodeId> nodes_;
  std::vector<std::pair<BlockId, std::vector<Entry>>> open_;
  std::vector<bool> is_open_;  // per block
  std::unordered_multimap<std::size_t, Value> constants_;
  std::unordered_map<std::uint32_t, Value> same_;
};

class Merger : public Rewriter {
 public:
  Result<std::optional<std::vector<Value>>> rewrite(const Graph& from, NodeId id, Builder& to,
                                                    std::span<const Value> inputs) override {
    const Node& node = from.node(id);
    if (!may_merge(to.graph(), node, inputs)) return std::nullopt;
    if (!seen_) seen_.emplace(to.graph());
    if (const auto earlier = seen_->find(node, inputs, to.block())) {
      ++merged_;
      return to.graph().node(*earlier).out;
    }
    return std::nullopt;
  }
  void copied(const Graph& to, NodeId copy) override {
    const Node& node = to.node(copy);
    if (seen_ && may_merge(to, node, node.in)) seen_->add(copy);
  }
  int merged() const { return merged_; }

 private:
  std::optional<Seen> seen_;
  int merged_ = 0;
};

}  // namespace

Result<std::optional<Graph>> merge_equal(const Graph& graph, const PassOptions&, std::string& note) {
  Merger merger;
  FRAZIL_TRY(Graph made, rebuild(graph, merger));
  if (merger.merged() == 0) return std::nullopt;
  note = fmt::format("{} nodes merged", merger.merged());
  return made;
}

}  // namespace frazil::pass
