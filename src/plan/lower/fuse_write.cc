#include <cmath>
#include <cstring>
#include <utility>

#include "kernel/row/reduce.h"
#include "plan/lower/fuse_draft.h"

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

/// Returns the negative slope of an activation: s for max(x, s * x) with 0 < s < 1, 0 for max(x, 0), 1 for any other
/// body.
float slope_of(const ScalarTape& tape) {
  const auto& code = tape.code;
  if (code.back().op != ScalarOp::max || code[code.back().a].op != ScalarOp::load) return 1;
  const ScalarIns& other = code[code.back().b];
  if (other.op == ScalarOp::constant) return other.real == 0 && !std::signbit(other.real) ? 0.F : 1.F;
  if (other.op != ScalarOp::mul || other.b != code.back().a || code[other.a].op != ScalarOp::constant) return 1;
  const auto slope = static_cast<float>(code[other.a].real);
  return slope > 0 && slope < 1 ? slope : 1;
}

template <class T>
T read(const Constant& c) {
  T value;
  std::memcpy(&value, c.tensor.data(), sizeof value);
  return value;
}

class GroupWriter {
 public:
  GroupWriter(const FusionFacts& facts, const Draft& draft) : facts_(facts), graph_(facts.graph), d_(draft) {}

  FusionGroup run() {
    g_.members = d_.members;
    g_.domain = d_.domain;
    g_.product = d_.product;
    for (Dim d : d_.domain) kernel_.domain.push_back({d.is_const() ? d.value() : -1});
    if (g_.product) open_product();
    write_body();
    if (g_.product) place_product();
    if (d_.prologue != nullptr) add_prologue();
    g_.kernel = std::make_shared<const FusedKernel>(std::move(kernel_));
    return std::move(g_);
  }

 private:
  Origin origin(NodeId n) const { return {.node = graph_.node(n).stable}; }

  std::uint32_t add_operand(Value v, Access access) {
    g_.inputs.push_back(v);
    kernel_.operands.push_back({v ? graph_.type(v).elem : Elem::f32, std::move(access)});
    return static_cast<std::uint32_t>(g_.inputs.size() - 1);
  }

  // ---- the producer ----

  void open_product() {
    Producer& p = kernel_.producer.emplace();
    p.params = facts_.bindings[d_.product.id]->params;
    p.origins = {origin(d_.product)};
    for (Value v : graph_.node(d_.product).in) add_operand(v, {});
    given_ = graph_.node(d_.product).out[0];
    if (auto* matmul = std::get_if<params::MatMul>(&p.params)) {
      take_bias(*matmul);
      matmul->added = take_addend();
      take_slope(matmul->slope);
    }
    if (auto* gemm = std::get_if<params::Gemm>(&p.params)) take_slope(gemm->slope);
    if (auto* conv = std::get_if<params::Conv>(&p.params);
        conv != nullptr && conv->channels_last && !conv->zero_points) {
      if (conv->half) {
        conv->scaled = conv->shifted = take_half_norm();
      } else {
        conv->scaled = take_row(ScalarOp::mul);
        conv->shifted = take_row(ScalarOp::add);
      }
      conv->added = take_addend();
      take_slope(conv->slope);
    }
    p.origins.back().exact = true;
    p.operands = {0, static_cast<std::uint32_t>(g_.inputs.size())};
  }

  /// Makes the product's kernel do the work of `member`, the only user of its result.
  void take(NodeId member) {
    hidden_.push_back(given_);
    given_ = graph_.node(member).out[0];
    kernel_.producer->origins.push_back(origin(member));
  }

  void take_bias(const params::MatMul& matmul) {
    if (matmul.zero_points || facts_.shape(graph_.node(d_.product).in[1]).size() < 2) return;
    take_row(ScalarOp::add);
  }

  /// Makes the kernel apply `op` with one element per column, if a node with `op` is the only user of its result.
  /// Returns false otherwise.
  bool take_row(ScalarOp op) {
    const auto user = only_user(given_);
    if (!user || !is_with_row(op, *user, given_)) return false;
    add_operand(other_operand(*user, given_), {});
    take(*user);
    return true;
  }

  /// Returns the elementwise member that is the only user of v.
  std::optional<NodeId> only_member(Value v) const {
    const auto& uses = facts_.uses.of(v);
    const bool alone = uses.size() == 1 && facts_.needs.bound_by(v).empty() && facts_.tapes.contains(uses[0].user.id);
    return alone && d_.has(uses[0].user) ? std::optional(uses[0].user) : std::nullopt;
  }

  /// Returns the member that is the only user of v and casts it to `to`.
  std::optional<NodeId> only_cast(Value v, Elem to) const {
    const auto user = only_member(v);
    const bool cast = user && facts_.tapes.at(user->id).code.size() == 1;
    return cast && graph_.type(graph_.node(*user).out[0]).elem == to ? user : std::nullopt;
  }

  /// Makes the kernel scale and shift a result of 16-bit floats by rows of f32: cast to f32, multiply, add, cast back.
  /// The four nodes are one stage, since the values between them are f32.
  bool take_half_norm() {
    const Elem elem = graph_.type(given_).elem;
    std::vector<NodeId> nodes;
    std::vector<Value> rows;
    Value v = given_;
    const auto step = [&](std::optional<NodeId> node) {
      if (!node) return false;
      nodes.push_back(*node);
      v = graph_.node(*node).out[0];
      return true;
    };
    if (!step(only_cast(v, Elem::f32))) return false;
    for (const ScalarOp op : {ScalarOp::mul, ScalarOp::add}) {
      const auto user = only_member(v);
      if (!user || graph_.type(graph_.node(*user).out[0]) != graph_.type(v) || !is_with_row(op, *user, v)) return false;
      rows.push_back(other_operand(*user, v));
      step(user);
    }
    if (!step(only_cast(v, elem))) return false;
    for (Value row : rows) add_operand(row, {});
    for (std::size_t i = 0; i + 1 < nodes.size(); ++i) hidden_.push_back(graph_.node(nodes[i]).out[0]);
    take(nodes.back());
    return true;
  }

  /// Returns true if the product's kernel can apply later nodes to v in v's own type.
  bool has_epilogue(Value v) const { return graph_.type(v).elem == Elem::f32 || is_half(graph_.type(v).elem); }

  /// Makes the kernel add another tensor with the result's extents, unless that tensor would have to be copied first.
  bool take_addend() {
    const auto user = only_user(given_);
    if (!user || !has_epilogue(given_) || !is_binary(ScalarOp::add, *user)) return false;
    const Value other = other_operand(*user, given_);
    const auto maker = graph_.producer(other);
    const bool view = maker && std::holds_alternative<View>(graph_.node(*maker).op->form);
    if (view || facts_.is_made_by(d_, other) || facts_.shape(other) != d_.domain) return false;
    add_operand(other, {});
    take(*user);
    return true;
  }

  void take_slope(float& slope) {
    const auto user = only_user(given_);
    if (!user || !has_epilogue(given_)) return;
    slope = slope_of(facts_.tapes.at(user->id));
    if (slope != 1) take(*user);
  }

  /// Returns the elementwise member that is the only user of v and keeps its type.
  std::optional<NodeId> only_user(Value v) const {
    const auto& uses = facts_.uses.of(v);
    if (uses.size() != 1 || !facts_.needs.bound_by(v).empty()) return std::nullopt;
    const NodeId user = uses[0].user;
    const bool inside = d_.has(user) && facts_.tapes.contains(user.id);
    return inside && graph_.type(graph_.node(user).out[0]) == graph_.type(v) ? std::optional(user) : std::nullopt;
  }

  bool is_binary(ScalarOp op, NodeId node) const {
    const ScalarTape& tape = facts_.tapes.at(node.id);
    return tape.code.size() == 3 && tape.code.back().op == op;
  }

  bool is_with_row(ScalarOp op, NodeId user, Value v) const {
    if (!is_binary(op, user)) return false;
    const Value row = other_operand(user, v);
    const Shape& extents = facts_.shape(row);
    return !facts_.is_made_by(d_, row) && !extents.empty() && extents.back() == d_.domain.back() &&
           std::ranges::all_of(std::span(extents).first(extents.size() - 1), is_one);
  }

  Value other_operand(NodeId sum, Value v) const {
    const auto& in = graph_.node(sum).in;
    return in[0] == v ? in[1] : in[0];
  }

  /// Returns true if the product's result need not be stored: sums of bytes with a weight that is packed once.
  bool may_pass() const {
    const Node& product = graph_.node(d_.product);
    const KernelParams& params = kernel_.producer->params;
    const auto* matmul = std::get_if<params::MatMul>(&params);
    const auto* conv = std::get_if<params::Conv>(&params);
    const bool sums =
        matmul != nullptr ? matmul->zero_points : conv != nullptr && conv->zero_points && conv->channels_last;
    const Constant* weight = graph_.constant(product.in[1]);
    const bool kept = weight != nullptr && (matmul == nullptr || weight->tensor.rank() == 2);
    return sums && kept && graph_.type(given_).elem == Elem::i32;
  }

  /// Chooses where the product's result goes: a store of that result, a store whose memory it may share, an additional
  /// store, or nowhere.
  void place_product() {
    const std::uint32_t load = load_of(kernel_, kProduced);
    std::uint32_t& into = kernel_.producer->into;
    for (into = 0; into < g_.outputs.size(); ++into) {
      const Value out = g_.outputs[into];
      if (out == given_) return;
      const bool same = facts_.shape(out) == d_.domain && graph_.type(out).elem == graph_.type(given_).elem;
      const bool given_is_output = std::ranges::find(g_.outputs, given_) != g_.outputs.end();
      if (same && !given_is_output && last_use(kernel_, load) <= kernel_.stores[into].value) return;
    }
    if (may_pass()) {
      into = kPassing;
      return;
    }
    into = static_cast<std::uint32_t>(g_.outputs.size());
    g_.outputs.push_back(given_);
    kernel_.stores.push_back({load, graph_.type(given_).elem, whole()});
  }

  void add_prologue() {
    FusionGroup made = write_group(facts_, *d_.prologue);
    kernel_.producer->prologue = made.kernel;
    kernel_.producer->prologue_operands = {static_cast<std::uint32_t>(g_.inputs.size()),
                                           static_cast<std::uint32_t>(made.inputs.size())};
    for (Value v : made.inputs) add_operand(v, {});
    g_.tiles = made.outputs[0];
    g_.members.insert(g_.members.end(), made.members.begin(), made.members.end());
  }

  // ---- the body ----

  Access whole() const { return Access::broadcast(d_.domain.size(), d_.domain.size()); }

  void write_body() {
    std::vector<std::uint32_t> stored;
    for (NodeId m : d_.members) {
      const Value out = graph_.node(m).out[0];
      if (std::ranges::find(hidden_, out) != hidden_.end()) continue;
      const std::uint32_t made = g_.product && out == given_ ? load(kProduced, out) : instructions(m);
      at_[out.id] = made;
      if (!facts_.is_output(d_, out)) continue;
      g_.outputs.push_back(out);
      kernel_.stores.push_back({made, graph_.type(out).elem, access_of(facts_.shape(out).size(), d_.domain.size())});
    }
    kernel_.body = std::move(builder_).finish();
  }

  std::uint32_t load(std::uint32_t operand, Value v) { return builder_.load(operand, graph_.type(v).elem); }

  std::uint32_t instructions(NodeId m) {
    const Node& n = graph_.node(m);
    const Binding& binding = *facts_.bindings[m.id];
    std::vector<std::uint32_t> in;
    for (Value v : facts_.operands(m)) in.push_back(operand(v));
    const RowOp op = row_op(binding);
    Origin from = origin(m);
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
    const std::size_t first = kernel_.producer ? kernel_.producer->operands.count : 0;
    const auto it = std::find(g_.inputs.begin() + static_cast<std::ptrdiff_t>(first), g_.inputs.end(), v);
    if (it != g_.inputs.end()) return load(static_cast<std::uint32_t>(it - g_.inputs.begin()), v);
    const Access access = Access::broadcast(facts_.shape(v).size(), d_.domain.size());
    return load(add_operand(v, access), v);
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
  FusionGroup g_;
  FusedKernel kernel_;
  BodyBuilder builder_;
  Value given_{};                                        // the result of the product's kernel
  std::vector<Value> hidden_;                            // values that only that kernel sees
  std::unordered_map<std::uint32_t, std::uint32_t> at_;  // per value: its instruction
};

}  // namespace

FusionGroup write_group(const FusionFacts& facts, const Draft& draft) { return GroupWriter(facts, draft).run(); }

}  // namespace frazil
