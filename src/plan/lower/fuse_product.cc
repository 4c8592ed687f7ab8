#include "plan/lower/fuse_product.h"

#include <algorithm>
#include <cmath>

namespace frazil {
namespace {

/// Returns the negative slope of an activation: s for max(x, s * x) with 0 < s < 1, 0 for max(x, 0), 1 for any other
/// body.
float slope_of(const ScalarTape& tape) {
  const auto& code = tape.code;
  if (code.back().op != ScalarOp::max || code[code.back().a].op != ScalarOp::load) return 1;
  const ScalarIns& other = code[code.back().b];
  if (other.op == ScalarOp::constant) return other.real == 0 && !std::signbit(other.real) ? 0.F : 1.F;
  if (other.op != ScalarOp::mul || other.b != code.back().a || code[other.a].op != ScalarOp::constant) return 1;
  const auto negative_slope = static_cast<float>(code[other.a].real);
  return negative_slope > 0 && negative_slope < 1 ? negative_slope : 1;
}

}  // namespace

std::uint32_t GroupParts::add_operand(const Graph& graph, Value v, Access access) {
  group.inputs.push_back(v);
  kernel.operands.push_back({v ? graph.type(v).elem : Elem::f32, std::move(access)});
  return static_cast<std::uint32_t>(group.inputs.size() - 1);
}

void ProducerWriter::open() {
  Producer& p = parts_.kernel.producer.emplace();
  p.params = facts_.bindings[d_.product.id]->params;
  p.origins = {origin_of(graph_, d_.product)};
  for (Value v : graph_.node(d_.product).in) parts_.add_operand(graph_, v, {});
  given_ = graph_.node(d_.product).out[0];
  if (auto* matmul = std::get_if<params::MatMul>(&p.params)) {
    take_bias(*matmul);
    matmul->added = take_addend();
    take_negative_slope(matmul->negative_slope);
  }
  if (auto* gemm = std::get_if<params::Gemm>(&p.params)) take_negative_slope(gemm->negative_slope);
  if (auto* conv = std::get_if<params::Conv>(&p.params); conv != nullptr && conv->channels_last && !conv->zero_points)
    take_epilogue(*conv);
  p.origins.back().exact = true;
  p.operands = {0, static_cast<std::uint32_t>(parts_.group.inputs.size())};
}

void ProducerWriter::take_epilogue(params::Conv& conv) {
  if (conv.half) {
    conv.scaled = conv.shifted = take_half_norm();
  } else {
    conv.scaled = take_row(ScalarOp::mul);
    conv.shifted = take_row(ScalarOp::add);
  }
  conv.added = take_addend();
  take_negative_slope(conv.negative_slope);
}

/// Makes the product's kernel do the work of `member`, the only user of its result.
void ProducerWriter::take(NodeId member) {
  hidden_.push_back(given_);
  given_ = graph_.node(member).out[0];
  parts_.kernel.producer->origins.push_back(origin_of(graph_, member));
}

void ProducerWriter::take_bias(const params::MatMul& matmul) {
  if (matmul.zero_points || facts_.shape(graph_.node(d_.product).in[1]).size() < 2) return;
  take_row(ScalarOp::add);
}

/// Makes the kernel apply `op` with one element per column, if a node with `op` is the only user of its result.
/// Returns false otherwise.
bool ProducerWriter::take_row(ScalarOp op) {
  const auto user = only_user(given_);
  if (!user || !is_with_row(op, *user, given_)) return false;
  parts_.add_operand(graph_, other_operand(*user, given_), {});
  take(*user);
  return true;
}

/// Returns the elementwise member that is the only user of v.
std::optional<NodeId> ProducerWriter::only_member(Value v) const {
  const auto& uses = facts_.uses.of(v);
  const bool alone = uses.size() == 1 && facts_.needs.bound_by(v).empty() && facts_.tapes.contains(uses[0].user.id);
  return alone && d_.has(uses[0].user) ? std::optional(uses[0].user) : std::nullopt;
}

/// Returns the member that is the only user of v and casts it to `to`.
std::optional<NodeId> ProducerWriter::only_cast(Value v, Elem to) const {
  const auto user = only_member(v);
  const bool cast = user && facts_.tapes.at(user->id).code.size() == 1;
  return cast && graph_.type(graph_.node(*user).out[0]).elem == to ? user : std::nullopt;
}

/// Makes the kernel scale and shift a result of 16-bit floats by rows of f32: cast to f32, multiply, add, cast back.
/// The four nodes are one stage, since the values between them are f32.
bool ProducerWriter::take_half_norm() {
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
    const auto user = only_user(v);
    if (!user || !is_with_row(op, *user, v)) return false;
    rows.push_back(other_operand(*user, v));
    step(user);
  }
  if (!step(only_cast(v, elem))) return false;
  for (Value row : rows) parts_.add_operand(graph_, row, {});
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) hidden_.push_back(graph_.node(nodes[i]).out[0]);
  take(nodes.back());
  return true;
}

/// Returns true if the product's kernel can apply later nodes to v in v's own type.
bool ProducerWriter::has_epilogue(Value v) const {
  return graph_.type(v).elem == Elem::f32 || is_half(graph_.type(v).elem);
}

/// Makes the kernel add another tensor with the result's extents, unless that tensor would have to be copied first.
bool ProducerWriter::take_addend() {
  const auto user = only_user(given_);
  if (!user || !has_epilogue(given_) || !is_binary(ScalarOp::add, *user)) return false;
  const Value other = other_operand(*user, given_);
  const auto maker = graph_.producer(other);
  const bool view = maker && std::holds_alternative<View>(graph_.node(*maker).op->form);
  if (view || facts_.is_made_by(d_, other) || facts_.shape(other) != d_.domain) return false;
  parts_.add_operand(graph_, other, {});
  take(*user);
  return true;
}

void ProducerWriter::take_negative_slope(float& negative_slope) {
  const auto user = only_user(given_);
  if (!user || !has_epilogue(given_)) return;
  negative_slope = slope_of(facts_.tapes.at(user->id));
  if (negative_slope != 1) take(*user);
}

/// Returns the elementwise member that is the only user of v and keeps its type.
std::optional<NodeId> ProducerWriter::only_user(Value v) const {
  const auto user = only_member(v);
  return user && graph_.type(graph_.node(*user).out[0]) == graph_.type(v) ? user : std::nullopt;
}

bool ProducerWriter::is_binary(ScalarOp op, NodeId node) const {
  const ScalarTape& tape = facts_.tapes.at(node.id);
  return tape.code.size() == 3 && tape.code.back().op == op;
}

bool ProducerWriter::is_with_row(ScalarOp op, NodeId user, Value v) const {
  if (!is_binary(op, user)) return false;
  const Value row = other_operand(user, v);
  const Shape& extents = facts_.shape(row);
  return !facts_.is_made_by(d_, row) && !extents.empty() && extents.back() == d_.domain.back() &&
         std::ranges::all_of(std::span(extents).first(extents.size() - 1), is_one);
}

Value ProducerWriter::other_operand(NodeId sum, Value v) const {
  const auto& in = graph_.node(sum).in;
  return in[0] == v ? in[1] : in[0];
}

/// Returns true if the product's result need not be stored: sums of bytes with a weight that is packed once.
bool ProducerWriter::may_pass() const {
  const Node& product = graph_.node(d_.product);
  const KernelParams& params = parts_.kernel.producer->params;
  const auto* matmul = std::get_if<params::MatMul>(&params);
  const auto* conv = std::get_if<params::Conv>(&params);
  const bool sums =
      matmul != nullptr ? matmul->zero_points : conv != nullptr && conv->zero_points && conv->channels_last;
  const Constant* weight = graph_.constant(product.in[1]);
  const bool kept = weight != nullptr && (matmul == nullptr || weight->tensor.rank() == 2);
  return sums && kept && graph_.type(given_).elem == Elem::i32;
}

void ProducerWriter::place() {
  const std::uint32_t load = load_of(parts_.kernel, kProduced);
  std::uint32_t& into = parts_.kernel.producer->into;
  for (into = 0; into < parts_.group.outputs.size(); ++into) {
    const Value out = parts_.group.outputs[into];
    if (out == given_) return;
    const bool same = facts_.shape(out) == d_.domain && graph_.type(out).elem == graph_.type(given_).elem;
    const bool given_is_output = std::ranges::find(parts_.group.outputs, given_) != parts_.group.outputs.end();
    if (same && !given_is_output && last_use(parts_.kernel, load) <= parts_.kernel.stores[into].value) return;
  }
  if (may_pass()) {
    into = kNotStored;
    return;
  }
  into = static_cast<std::uint32_t>(parts_.group.outputs.size());
  parts_.group.outputs.push_back(given_);
  parts_.kernel.stores.push_back(
      {load, graph_.type(given_).elem, Access::broadcast(d_.domain.size(), d_.domain.size())});
}

}  // namespace frazil
