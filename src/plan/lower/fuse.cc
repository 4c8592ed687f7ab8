#include "plan/lower/fuse.h"

#include <algorithm>

#include "ir/op/op.h"
#include "plan/lower/fuse_draft.h"

namespace frazil {

std::string_view text_of(FusionRejection why) {
  constexpr std::string_view texts[] = {"their extents are not provably the same",
                                        "the value between them is rounded to a narrower type",
                                        "a node between them uses the first one's result",
                                        "together they need more operands or instructions than a step holds",
                                        "a step holds one product, and what works on its result",
                                        "rows of so few elements do not pay"};
  return texts[static_cast<std::size_t>(why)];
}

const FusionGroup* Fusion::group(NodeId n) const {
  const std::uint32_t g = group_of_[n.id];
  return g == ~0u ? nullptr : &groups_[g];
}

namespace {

constexpr std::uint32_t kNoDraft = ~0u;
constexpr std::int64_t kShortRow = 8;
constexpr std::size_t kRounding = 2, kRoundings = 8;  ///< instructions that round a value; the same for a whole norm
constexpr std::int64_t kMaxCachedWeight = std::int64_t{1}
                                          << 18;  ///< the most elements of a weight that stays in a cache
constexpr std::int64_t kLongRow = 512;            ///< above it call overhead is negligible

/// The role of a node in a group.
enum class Part : std::uint8_t { none, elementwise, row, product };

/// Returns true if each row of `domain` gives one element of `shape`.
bool is_per_row(const Shape& shape, const Shape& domain) {
  if (domain.empty()) return false;
  const auto leading = std::span(domain).first(domain.size() - 1);
  if (std::ranges::all_of(leading, is_one)) return shape.size() <= domain.size() && std::ranges::all_of(shape, is_one);
  return shape.size() == domain.size() && is_one(shape.back()) &&
         std::ranges::equal(leading, std::span(shape).first(leading.size()));
}

/// Returns the domain of both drafts together; nullopt if they have none.
std::optional<Shape> common_domain(const Draft& p, const Draft& d) {
  if (p.domain == d.domain) return d.domain;
  if (p.rows && !d.rows && is_per_row(d.domain, p.domain)) return p.domain;
  if (d.rows && !p.rows && is_per_row(p.domain, d.domain)) return d.domain;
  return std::nullopt;
}

/// Returns true for a single row operator on short rows: its own kernel takes many rows in one call.
bool has_fast_kernel(const Draft& d) {
  return d.rows && d.members.size() == 1 && d.domain.back().is_const() && d.domain.back().value() < kLongRow;
}

}  // namespace

class Fuser {
 public:
  Fuser(const Graph& graph, const Needs& needs, Fusion& fusion)
      : facts_(graph, needs), graph_(graph), fusion_(fusion), draft_of_(graph.node_count(), kNoDraft) {
    fusion_.group_of_.assign(graph.node_count(), kNoDraft);
  }

  void run(bool enabled) {
    for (const NodeId n : graph_.nodes()) visit(n, enabled);
    for (Draft& d : drafts_) {
      if (enabled && d.product) take_prologue(d);
    }
    for (const Draft& d : drafts_) finish(d);
    std::erase_if(fusion_.rejected_, [&](const Fusion::Rejected& r) {
      return draft_of_[r.node.id] == draft_of_[r.producer.id];  // other nodes have joined them
    });
    fusion_.bindings_ = std::move(facts_.bindings);
  }

 private:
  Part part_of(NodeId id) const {
    const Node& n = graph_.node(id);
    const auto& binding = facts_.bindings[id.id];
    if (!binding || n.out.empty() || !n.out[0]) return Part::none;
    if (binding->kernel() == Kernel::fused) return Part::elementwise;
    if (binding->epilogue) return Part::product;
    return row_op(*binding) != RowOp::none && works_along_rows(n, *binding) ? Part::row : Part::none;
  }

  bool works_along_rows(const Node& n, const Binding& b) const {
    const Shape& shape = facts_.shape(n.in[0]);
    const auto rank = static_cast<std::int64_t>(shape.size());
    if (std::ranges::count_if(n.out, [](Value v) { return bool(v); }) != 1 || rank == 0) return false;
    if (const auto* norm = std::get_if<params::LayerNorm>(&b.params)) return norm->axis == rank - 1;
    const auto* reduce = std::get_if<params::Reduce>(&b.params);
    if (reduce == nullptr) return true;
    if (reduce->axis + reduce->count != rank) return false;
    const auto folded = std::span(shape).subspan(static_cast<std::size_t>(reduce->axis));
    return std::ranges::all_of(folded.first(folded.size() - 1), is_one);
  }

  void visit(NodeId id, bool enabled) {
    const Form& form = graph_.node(id).op->form;
    if (!facts_.needs.node(id) || std::holds_alternative<Region>(form) || std::holds_alternative<View>(form)) return;
    facts_.bindings[id.id] = bind(graph_, id);
    const Part part = part_of(id);
    if (part == Part::none) return;
    Draft d = single(id, part);
    if (enabled && part != Part::product && !facts_.feeds_extents(id)) {
      for (bool again = true; again;) again = absorb_producers(d, id);
    }
    for (NodeId m : d.members) draft_of_[m.id] = static_cast<std::uint32_t>(drafts_.size());
    drafts_.push_back(std::move(d));
  }

  Draft single(NodeId id, Part part) {
    const Node& n = graph_.node(id);
    Draft d{.members = {id},
            .domain = facts_.shape(part == Part::row ? n.in[0] : n.out[0]),
            .rows = part == Part::row,
            .product = part == Part::product ? id : NodeId{},
            .inputs = {}};
    const std::vector<Value> operands = facts_.operands(id);
    if (part == Part::elementwise) facts_.tapes.emplace(id.id, tape_of(graph_, id));
    d.instructions = part == Part::elementwise ? facts_.tapes.at(id.id).code.size() : 1 + operands.size();
    if (is_half(graph_.type(n.out[0]).elem)) d.instructions += part == Part::row ? kRoundings : kRounding;
    for (Value v : operands) {
      if (std::ranges::find(d.inputs, v) == d.inputs.end()) d.inputs.push_back(v);
    }
    return d;
  }

  bool absorb_producers(Draft& d, NodeId id) {
    bool changed = false;
    for (Value v : facts_.operands(id)) {
      const auto producer = graph_.producer(v);
      if (!producer || graph_.node(*producer).parent != graph_.node(id).parent) continue;
      const std::uint32_t p = draft_of_[producer->id];
      if (p == kNoDraft || facts_.feeds_extents(*producer)) continue;
      if (std::ranges::find(d.inputs, v) == d.inputs.end()) continue;  // absorbed already
      if (const auto why = rejection(drafts_[p], d, facts_.uses.position(id))) {
        reject(id, *producer, *why);
        continue;
      }
      merge(drafts_[p], d);
      changed = true;
    }
    return changed;
  }

  /// Adds a rejection, unless the pair has one. Rejections of one node are adjacent, at the end of the list.
  void reject(NodeId node, NodeId producer, FusionRejection why) {
    auto& all = fusion_.rejected_;
    for (auto r = all.rbegin(); r != all.rend() && r->node == node; ++r) {
      if (r->producer == producer) return;
    }
    all.push_back({node, producer, why});
  }

  std::optional<FusionRejection> rejection(const Draft& p, const Draft& d, std::uint32_t end) const {
    const auto domain = common_domain(p, d);
    if (!domain || (p.product && p.domain != *domain) || (d.product && d.domain != *domain)) {
      return FusionRejection::domain;
    }
    if ((p.product && d.product) || feeds_product(p, d) || feeds_product(d, p)) return FusionRejection::products;
    for (Value v : d.inputs) {
      if (!facts_.is_made_by(p, v)) continue;
      if (facts_.shape(v) != *domain && !is_per_row(facts_.shape(v), *domain)) return FusionRejection::domain;
      const Elem elem = graph_.type(v).elem;
      if (compute_elem(elem) != elem && !is_half(elem)) return FusionRejection::rounding;
      if (p.product && stays_bytes(p, d, v)) return FusionRejection::rounding;
    }
    if ((p.rows || d.rows) && domain->back().is_const() && domain->back().value() < kShortRow) {
      return FusionRejection::short_row;
    }
    if (!all_inside(p, d, end)) return FusionRejection::order;
    return fits(p, d) ? std::nullopt : std::optional(FusionRejection::size);
  }

  /// Returns true if the bytes v, which d widens, should stay a result of p: d then reads less than p would have to
  /// write. This is so if other nodes read v too, or if d's result is added to a value that is computed later.
  bool stays_bytes(const Draft& p, const Draft& d, Value v) const {
    if (byte_size(graph_.type(v).elem) != 1 || !std::ranges::all_of(d.members, [&](NodeId m) { return is_wide(m); }))
      return false;
    const auto outside = [&](const ValueUses::Use& u) { return !p.has(u.user) && !d.has(u.user); };
    return std::ranges::any_of(facts_.uses.of(v), outside) || waits_for_other(d.members.back(), d.domain);
  }

  bool is_wide(NodeId n) const { return byte_size(graph_.type(graph_.node(n).out[0]).elem) > 1; }

  /// Returns true if the only use of n's result combines it with an operand of the same extents that is computed later.
  /// Follows chains of single uses.
  bool waits_for_other(NodeId n, const Shape& domain) const {
    constexpr int kMaxChainLength = 4;  // the longest chain of single uses that is followed
    const std::uint32_t position = facts_.uses.position(n);
    for (int steps = 0; steps < kMaxChainLength; ++steps) {
      const Value made = graph_.node(n).out[0];
      const auto& uses = facts_.uses.of(made);
      if (uses.size() != 1 || !uses[0].user) return false;
      n = uses[0].user;
      const auto binding = bind(graph_, n);  // users have not been visited yet
      if (!binding || binding->kernel() != Kernel::fused || !is_wide(n)) return false;
      for (Value other : facts_.operands(n)) {
        if (other == made || facts_.shape(other) != domain) continue;
        const auto producer = graph_.producer(other);
        return producer && facts_.uses.position(*producer) > position;
      }
    }
    return false;
  }

  bool feeds_product(const Draft& p, const Draft& d) const {
    return d.product &&
           std::ranges::any_of(facts_.operands(d.product), [&](Value v) { return facts_.is_made_by(p, v); });
  }

  /// Returns true if nothing else uses the results of p before the group runs.
  bool all_inside(const Draft& p, const Draft& d, std::uint32_t end) const {
    return std::ranges::all_of(p.members, [&](NodeId m) {
      return std::ranges::all_of(facts_.uses.of(graph_.node(m).out[0]), [&](const ValueUses::Use& u) {
        return u.position >= end || p.has(u.user) || d.has(u.user);
      });
    });
  }

  std::vector<Value> joint_inputs(const Draft& p, const Draft& d) const {
    std::vector<Value> inputs = p.inputs;
    for (Value v : d.inputs) {
      if (!facts_.is_made_by(p, v) && std::ranges::find(inputs, v) == inputs.end()) inputs.push_back(v);
    }
    return inputs;
  }

  bool fits(const Draft& p, const Draft& d) const {
    const std::size_t held = p.product || d.product ? 1 : 0;  // the product's result may need a store of its own
    return p.instructions + d.instructions <= kMaxFusedInstructions && joint_inputs(p, d).size() <= kMaxFusedOperands &&
           output_count(p, d) + held <= kMaxFusedStores;
  }

  std::size_t output_count(const Draft& p, const Draft& d) const {
    const auto is_output = [&](NodeId m) {
      return !std::ranges::all_of(facts_.uses.of(graph_.node(m).out[0]),
                                  [&](const ValueUses::Use& u) { return p.has(u.user) || d.has(u.user); });
    };
    return static_cast<std::size_t>(std::ranges::count_if(p.members, is_output) +
                                    std::ranges::count_if(d.members, is_output));
  }

  void merge(Draft& p, Draft& d) {
    d.domain = *common_domain(p, d);
    d.inputs = joint_inputs(p, d);
    d.rows |= p.rows;
    if (p.product) d.product = p.product;
    d.instructions += p.instructions;
    d.members.insert(d.members.begin(), p.members.begin(), p.members.end());
    sort_members(d.members);
    p.members.clear();
  }

  void sort_members(std::vector<NodeId>& members) const {
    std::ranges::sort(members, {}, [&](NodeId n) { return facts_.uses.position(n); });
  }

  /// Makes the draft that computes the product's first operand its prologue, if possible. The product's weight must be
  /// small enough to stay in a cache. The prologue then makes a few rows at a time, which need not go through memory.
  void take_prologue(Draft& d) {
    const Node& n = graph_.node(d.product);
    const Binding& binding = *facts_.bindings[d.product.id];
    const auto* gemm = std::get_if<params::Gemm>(&binding.params);
    if (binding.kernel() == Kernel::conv || (gemm != nullptr && gemm->trans_a)) return;
    const Constant* weight = graph_.constant(n.in[1]);
    if (weight == nullptr || weight->tensor.rank() != 2 || weight->tensor.count() > kMaxCachedWeight) return;
    const auto producer = graph_.producer(n.in[0]);
    if (!producer || draft_of_[producer->id] == kNoDraft) return;
    Draft& maker = drafts_[draft_of_[producer->id]];
    if (maker.product || has_fast_kernel(maker) || !makes_only(maker, n.in[0], d.product)) return;
    maker.is_prologue = true;
    d.prologue = &maker;
  }

  /// Returns true if v is the only result of `maker` and covers its domain, and `user` is the only user of v.
  bool makes_only(const Draft& maker, Value v, NodeId user) const {
    const auto& uses = facts_.uses.of(v);
    const bool one_use = uses.size() == 1 && uses[0].user == user;
    if (!one_use || maker.domain.size() < 2 || facts_.shape(v) != maker.domain) return false;
    return std::ranges::all_of(maker.members, [&](NodeId m) {
      const Value out = graph_.node(m).out[0];
      return !facts_.feeds_extents(m) && (out == v || !facts_.is_output(maker, out));
    });
  }

  /// Turns a draft into a group. A row operator or a product alone keeps its own kernel. Rows of 16-bit floats are an
  /// exception, since the kernels of row operators accept wider types only.
  void finish(const Draft& d) {
    const bool narrow = !d.members.empty() && d.rows && is_half(graph_.type(graph_.node(d.members[0]).in[0]).elem);
    const bool alone = d.members.size() == 1 && (d.rows || d.product) && !narrow && d.prologue == nullptr;
    if (d.members.empty() || d.is_prologue || alone) return;
    FusionGroup g = write_group(facts_, d);
    sort_members(g.members);
    for (NodeId n : g.members) fusion_.group_of_[n.id] = static_cast<std::uint32_t>(fusion_.groups_.size());
    fusion_.groups_.push_back(std::move(g));
  }

  FusionFacts facts_;
  const Graph& graph_;
  Fusion& fusion_;
  std::vector<Draft> drafts_;
  std::vector<std::uint32_t> draft_of_;  // per node
};

Fusion Fusion::of(const Graph& graph, const Needs& needs, bool enabled) {
  Fusion fusion;
  Fuser(graph, needs, fusion).run(enabled);
  return fusion;
}

}  // namespace frazil
