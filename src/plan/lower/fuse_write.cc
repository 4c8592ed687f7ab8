#include <cstring>
#include <utility>

#include "kernel/row/reduce.h"
#include "plan/lower/fuse_product.h"

namespace frazil {

static_assert(static_cast<int>(RowOp::sum) == static_cast<int>(kernel::Reduce::sum) + 1 &&
              static_cast<int>(RowOp::sum_abs) == static_cast<int>(kernel::Reduce::sum_abs) + 1);

RowOp row_op(const Binding& b) {
  if (const auto* reduce = std::get_if<params::Reduce>(&b.params)) {
    return static_cast<RowOp>(static_cast<int>(reduce->fold) + 1);
  }
  if (const auto* softmax = std::get_if<params::Softmax>(&b.params)) {
    return softmax->log ? RowOp::log_softmax : RowOp::softmax;
  }
  return b.kernel() == Kernel::layer_norm ? RowOp::layer_norm : RowOp::none;
}

std::vector<Value> FusionFacts::operands(NodeId id) const {
  const Node& n = graph.node(id);
  if (bindings[id.id]->kernel() == Kernel::reduce) return {n.in[0]};
  std::vector<Value> list;
  for (Value v : n.in) {
    if (v) list.push_back(v);
  }
  return list;
}

bool FusionFacts::feeds_extents(NodeId id) const {
  const Node& n = graph.node(id);
  return Needs::is_known(graph, n.out[0]) || !needs.bound_by(n.out[0]).empty() || defines_extents(graph, n);
}

bool FusionFacts::is_made_by(const Draft& d, Value v) const {
  const auto producer = graph.producer(v);
  return producer && d.has(*producer);
}

bool FusionFacts::is_output(const Draft& d, Value v) const {
  if (!needs.bound_by(v).empty()) return true;
  return std::ranges::any_of(uses.of(v), [&](const ValueUses::Use& u) { return !d.has(u.user); });
}

namespace {

template <class T>
T read(const Constant& c) {
  T value;
  std::memcpy(&value, c.tensor.data(), sizeof value);
  return value;
}

class GroupWriter {
 public:
  GroupWriter(const FusionFacts& facts, const Draft& draft)
      : facts_(facts), graph_(facts.graph), d_(draft), producer_(facts, draft, parts_) {}

  FusionGroup run() {
    FusionGroup& group = parts_.group;
    group.members = d_.members;
    group.domain = d_.domain;
    group.product = d_.product;
    for (Dim d : d_.domain) parts_.kernel.domain.push_back({d.is_const() ? d.value() : -1});
    if (group.product) producer_.open();
    write_body();
    if (group.product) producer_.place();
    if (d_.prologue != nullptr) add_prologue();
    group.kernel = std::make_shared<const FusedKernel>(std::move(parts_.kernel));
    return std::move(group);
  }

 private:
  void add_prologue() {
    FusionGroup made = write_group(facts_, *d_.prologue);
    parts_.kernel.producer->prologue = made.kernel;
    parts_.kernel.producer->prologue_operands = {static_cast<std::uint32_t>(parts_.group.inputs.size()),
                                                 static_cast<std::uint32_t>(made.inputs.size())};
    for (Value v : made.inputs) parts_.add_operand(graph_, v, {});
    parts_.group.tiles = made.outputs[0];
    parts_.group.members.insert(parts_.group.members.end(), made.members.begin(), made.members.end());
  }

  void write_body() {
    std::vector<std::uint32_t> stored;
    for (NodeId m : d_.members) {
      const Value out = graph_.node(m).out[0];
      if (producer_.hides(out)) continue;
      const std::uint32_t made =
          parts_.group.product && out == producer_.given() ? load(kProduced, out) : instructions(m);
      at_[out.id] = made;
      if (!facts_.is_output(d_, out)) continue;
      parts_.group.outputs.push_back(out);
      parts_.kernel.stores.push_back(
          {made, graph_.type(out).elem, access_of(facts_.shape(out).size(), d_.domain.size())});
    }
    parts_.kernel.body = std::move(builder_).finish();
  }

  std::uint32_t load(std::uint32_t operand, Value v) { return builder_.load(operand, graph_.type(v).elem); }

  std::uint32_t instructions(NodeId m) {
    const Node& n = graph_.node(m);
    const Binding& binding = *facts_.bindings[m.id];
    std::vector<std::uint32_t> in;
    for (Value v : facts_.operands(m)) in.push_back(operand(v));
    const RowOp op = row_op(binding);
    Origin from = origin_of(graph_, m);
    if (op == RowOp::none) return builder_.inline_tape(facts_.tapes.at(m.id), in, from);
    from.exact = true;
    const Elem elem = graph_.type(n.out[0]).elem;
    const auto* norm = std::get_if<params::LayerNorm>(&binding.params);
    if (norm != nullptr && is_half(elem)) return half_norm(in, norm->epsilon, elem, from);
    const bool biased = op == RowOp::layer_norm && in.size() > 2;
    const std::uint32_t b = in.size() > 1 ? in[1] : 0, c = in.size() > 2 ? in[2] : 0;
    return builder_.row(biased ? RowOp::layer_norm_bias : op, compute_elem(elem), in[0], b, c,
                        norm != nullptr ? norm->epsilon : 0, from);
  }

  /// Writes a normalisation of 16-bit floats as the operator defines it: rounded after each of its three steps.
  std::uint32_t half_norm(const std::vector<std::uint32_t>& in, float epsilon, Elem elem, Origin from) {
    from.exact = false;
    std::uint32_t y = builder_.row(RowOp::standardize, compute_elem(elem), in[0], 0, 0, epsilon, from);
    from.exact = in.size() < 3;
    y = builder_.scalar(ScalarOp::mul, builder_.rounded(y, elem), in[1], from);
    if (from.exact) return y;
    from.exact = true;
    return builder_.scalar(ScalarOp::add, builder_.rounded(y, elem), in[2], from);
  }

  std::uint32_t operand(Value v) {
    const Elem elem = graph_.type(v).elem;
    if (const auto it = at_.find(v.id); it != at_.end())
      return is_half(elem) ? builder_.rounded(it->second, elem) : it->second;
    if (const auto made = small_constant(v)) return *made;
    const std::size_t first = parts_.kernel.producer ? parts_.kernel.producer->operands.count : 0;
    const auto it =
        std::find(parts_.group.inputs.begin() + static_cast<std::ptrdiff_t>(first), parts_.group.inputs.end(), v);
    if (it != parts_.group.inputs.end()) return load(static_cast<std::uint32_t>(it - parts_.group.inputs.begin()), v);
    const Access access = Access::broadcast(facts_.shape(v).size(), d_.domain.size());
    return load(parts_.add_operand(graph_, v, access), v);
  }

  /// Returns a constant of one element as an instruction of the body.
  std::optional<std::uint32_t> small_constant(Value v) {
    const Constant* c = graph_.constant(v);
    if (c == nullptr || c->tensor.count() != 1) return std::nullopt;
    switch (graph_.type(v).elem) {
      case Elem::f16:
      case Elem::bf16: return builder_.constant(Elem::f32, c->tensor.number_at(0), 0);
      case Elem::f32: return builder_.constant(Elem::f32, read<float>(*c), 0);
      case Elem::f64: return builder_.constant(Elem::f64, read<double>(*c), 0);
      case Elem::i32: return builder_.constant(Elem::i32, 0, read<std::int32_t>(*c));
      case Elem::i64: return builder_.constant(Elem::i64, 0, read<std::int64_t>(*c));
      default: return std::nullopt;
    }
  }

  const FusionFacts& facts_;
  const Graph& graph_;
  const Draft& d_;
  GroupParts parts_;
  ProducerWriter producer_;
  BodyBuilder builder_;
  std::unordered_map<std::uint32_t, std::uint32_t> at_;  // per value: its instruction
};

}  // namespace

FusionGroup write_group(const FusionFacts& facts, const Draft& draft) { return GroupWriter(facts, draft).run(); }

}  // namespace frazil
