#include "ir/infer/known_value.h"

#include <algorithm>
#include <limits>

namespace frazil {
namespace {

using MaybeDim = std::optional<Dim>;

bool follows(Elem e) { return e == Elem::i64 || e == Elem::i32 || e == Elem::boolean; }

/// Returns the extents as numbers if all are constant and the element count is small.
std::optional<std::vector<std::int64_t>> small_sizes(const Shape& shape) {
  std::vector<std::int64_t> sizes;
  std::int64_t count = 1;
  for (Dim d : shape) {
    if (!d.is_const() || d.value() > kMaxKnownElements) return std::nullopt;
    sizes.push_back(d.value());
    count *= d.value();
    if (count > kMaxKnownElements) return std::nullopt;
  }
  return sizes;
}

bool saturated(Dim d) { return d.is_const() && (d.value() >= Dim::kMax || d.value() <= Dim::kMin); }

// Truth values are exact expressions that are 0 or 1.
Dim truth_less(Scope& scope, Dim a, Dim b) {
  switch (scope.less(a, b)) {
    case Proof::yes: return 1;
    case Proof::no: return 0;
    case Proof::maybe: break;
  }
  return scope.min(1, scope.max(0, scope.sub(b, a)));
}

Dim truth_not(Scope& scope, Dim a) { return scope.sub(1, a); }

Dim truth_nonzero(Scope& scope, Dim a) { return scope.min(1, scope.max(a, scope.sub(0, a))); }

Dim truth_equal(Scope& scope, Dim a, Dim b) {
  switch (scope.equal(a, b)) {
    case Proof::yes: return 1;
    case Proof::no: return 0;
    case Proof::maybe: break;
  }
  return truth_not(scope, truth_nonzero(scope, scope.sub(a, b)));
}

/// Returns true if d may be computed with. Arithmetic on extents is exact: a tensor whose extents overflow could not be
/// allocated. Values read from data are arbitrary, so they are only moved.
bool is_safe(const Scope& scope, Dim d) { return d.is_const() ? !saturated(d) : scope.bounds(d).min > Dim::kMin / 2; }

MaybeDim divide(Scope& scope, Dim a, Dim b, bool remainder) {
  if (scope.bounds(a).min < 0 || scope.bounds(b).min < 1) {
    if (!a.is_const() || !b.is_const() || b.value() == 0) return std::nullopt;
    return remainder ? Dim(a.value() - b.value() * (a.value() / b.value())) : Dim(a.value() / b.value());
  }
  return remainder ? mod(scope, a, b) : scope.floordiv(a, b);
}

/// Multiplies two Dims. Returns nullopt for a constant factor larger than extents are, since the product may wrap.
MaybeDim multiply(Scope& scope, Dim a, Dim b) {
  constexpr std::int64_t kMaxFactor = std::int64_t{1} << 31;
  const auto large = [](Dim d) { return d.is_const() && (d.value() > kMaxFactor || d.value() < -kMaxFactor); };
  if (large(a) || large(b)) return std::nullopt;
  return scope.mul(a, b);
}

/// Evaluates one instruction on Dims. Returns nullopt if the result is not known exactly.
MaybeDim eval(Scope& scope, const ScalarIns& ins, Elem operand, MaybeDim a, MaybeDim b, MaybeDim c) {
  if (ins.op == ScalarOp::constant) return is_float(ins.type) ? MaybeDim{} : Dim(ins.integer);
  if (ins.op == ScalarOp::select) {
    if (b && c && *b == *c) return b;
    if (!a) return std::nullopt;
    if (a->is_const()) return a->value() != 0 ? b : c;
    if (!b || !c || !is_safe(scope, *b) || !is_safe(scope, *c)) return std::nullopt;
    return scope.add(*c, scope.mul(*a, scope.sub(*b, *c)));
  }
  if (!a || !is_safe(scope, *a)) return std::nullopt;
  if (arity(ins.op) == 2 && (!b || !is_safe(scope, *b))) return std::nullopt;
  switch (ins.op) {
    case ScalarOp::cast:
      if (!follows(ins.type) || !follows(operand)) return std::nullopt;
      return ins.type == Elem::boolean && operand != Elem::boolean ? truth_nonzero(scope, *a) : *a;
    case ScalarOp::add: return scope.add(*a, *b);
    case ScalarOp::sub: return scope.sub(*a, *b);
    case ScalarOp::mul: return multiply(scope, *a, *b);
    case ScalarOp::neg: return scope.sub(0, *a);
    case ScalarOp::min: return scope.min(*a, *b);
    case ScalarOp::max: return scope.max(*a, *b);
    case ScalarOp::div: return divide(scope, *a, *b, false);
    case ScalarOp::mod:
    case ScalarOp::fmod:
      return scope.bounds(*a).min >= 0 && scope.bounds(*b).min >= 1 ? divide(scope, *a, *b, true) : MaybeDim{};
    case ScalarOp::eq: return truth_equal(scope, *a, *b);
    case ScalarOp::lt: return truth_less(scope, *a, *b);
    case ScalarOp::le: return truth_not(scope, truth_less(scope, *b, *a));
    case ScalarOp::lnot: return operand == Elem::boolean ? MaybeDim(truth_not(scope, *a)) : MaybeDim{};
    case ScalarOp::land: return operand == Elem::boolean ? MaybeDim(scope.min(*a, *b)) : MaybeDim{};
    case ScalarOp::lor: return operand == Elem::boolean ? MaybeDim(scope.max(*a, *b)) : MaybeDim{};
    case ScalarOp::lxor:
      return operand == Elem::boolean ? MaybeDim(truth_not(scope, truth_equal(scope, *a, *b))) : MaybeDim{};
    default: return std::nullopt;
  }
}

/// The known value of an operand, read with broadcasting against `sizes`.
struct Operand {
  const std::vector<Dim>* known;
  std::vector<std::int64_t> sizes;
  Dim at(std::span<const std::int64_t> index) const {
    std::int64_t flat = 0;
    const std::size_t skip = index.size() - sizes.size();
    for (std::size_t d = 0; d < sizes.size(); ++d) flat = flat * sizes[d] + (sizes[d] == 1 ? 0 : index[skip + d]);
    return (*known)[static_cast<std::size_t>(flat)];
  }
};

bool next_index(std::vector<std::int64_t>& index, std::span<const std::int64_t> sizes) {
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (++index[d] < sizes[d]) return true;
    index[d] = 0;
  }
  return false;
}

bool fits_i32(Dim d) {
  using Limits = std::numeric_limits<std::int32_t>;
  return d.value() >= Limits::min() && d.value() <= Limits::max();
}

/// Evaluates the scalar program once. Returns nullopt if a part is unknown.
MaybeDim eval_tape(Scope& scope, const ScalarTape& tape, std::span<const Dim> operands) {
  std::vector<MaybeDim> regs;
  for (const ScalarIns& ins : tape.code) {
    if (ins.op == ScalarOp::load) {
      regs.push_back(operands[ins.operand]);
      continue;
    }
    auto reg = [&](std::uint32_t i) { return regs.empty() ? MaybeDim{} : regs[i]; };
    const Elem operand = tape.code.empty() ? ins.type : tape.code[ins.a].type;
    MaybeDim d = eval(scope, ins, operand, reg(ins.a), reg(ins.b), reg(ins.c));
    if (d && saturated(*d)) d.reset();
    if (d && ins.type == Elem::i32 && (d->is_const() ? !fits_i32(*d) : ins.op != ScalarOp::cast)) d.reset();
    regs.push_back(d);
  }
  return regs.back();
}

}  // namespace

std::optional<std::vector<Dim>> known_elementwise(InferCx& cx) {
  const std::optional<Type>& out = cx.found_type(0);
  if (!out || !follows(out->elem)) return std::nullopt;
  const auto sizes = small_sizes(out->shape);
  if (!sizes) return std::nullopt;
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < cx.input_count(); ++i) {
    if (!cx.has(i)) return std::nullopt;
    const auto* known = cx.known_value(i);
    const auto in_sizes = small_sizes(cx.shape(i));
    if (!known || !in_sizes || !follows(cx.elem(i))) return std::nullopt;
    operands.push_back({known, *in_sizes});
  }
  const ScalarTape tape = tape_of(cx.graph(), cx.id(), out->elem);
  std::vector<Dim> result;
  if (std::ranges::find(*sizes, 0) != sizes->end()) return result;
  std::vector<std::int64_t> index(sizes->size(), 0);
  do {
    std::vector<Dim> in;
    for (const Operand& o : operands) in.push_back(o.at(index));
    const MaybeDim d = eval_tape(cx.scope(), tape, in);
    if (!d) return std::nullopt;
    result.push_back(*d);
  } while (next_index(index, *sizes));
  return result;
}

namespace {

/// Returns the operand position for an output index of an affine map with constant offsets and steps; -1 for the fill
/// value.
std::optional<std::int64_t> affine_position(const ViewMap& map, std::span<const std::int64_t> in,
                                            std::span<const std::int64_t> index) {
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const ViewMap::AxisMap& a = map.axes[d];
    if (!a.offset.is_const() || !a.step.is_const()) return std::nullopt;
    const std::int64_t at =
        a.offset.value() + (a.axis < 0 ? 0 : a.step.value() * index[static_cast<std::size_t>(a.axis)]);
    if (at < 0 || at >= in[d]) return a.edge == Edge::fill ? std::optional<std::int64_t>(-1) : std::nullopt;
    flat = flat * in[d] + at;
  }
  return flat;
}

std::optional<std::vector<Dim>> known_affine(InferCx& cx, const ViewMap& map) {
  const auto source = static_cast<std::size_t>(map.source);
  const auto sizes = small_sizes(map.shape), in = small_sizes(cx.shape(source));
  const auto* known = cx.known_value(source);
  if (!sizes || !in || !known) return std::nullopt;
  std::vector<Dim> result;
  if (std::ranges::find(*sizes, 0) != sizes->end()) return result;
  std::vector<std::int64_t> index(sizes->size(), 0);
  do {
    const auto at = affine_position(map, *in, index);
    if (!at || (*at < 0 && map.fill >= 0)) return std::nullopt;
    result.push_back(*at < 0 ? Dim(0) : (*known)[static_cast<std::size_t>(*at)]);
  } while (next_index(index, *sizes));
  return result;
}

/// Concatenates 1-D operands along axis 0 only, which is all that shape arithmetic uses.
std::optional<std::vector<Dim>> known_concat(InferCx& cx, const ViewMap& map) {
  std::vector<Dim> result;
  if (map.shape.size() != 1) return std::nullopt;
  for (std::size_t i = static_cast<std::size_t>(map.source); i < cx.input_count(); ++i) {
    const auto* known = cx.known_value(i);
    if (!known) return std::nullopt;
    result.insert(result.end(), known->begin(), known->end());
  }
  return result.size() <= static_cast<std::size_t>(kMaxKnownElements) ? std::optional(result) : std::nullopt;
}

}  // namespace

std::optional<std::vector<Dim>> known_view(InferCx& cx, const ViewMap& map) {
  if (!follows(cx.elem(static_cast<std::size_t>(map.source)))) return std::nullopt;
  switch (map.kind) {
    case ViewMap::Kind::affine: return known_affine(cx, map);
    case ViewMap::Kind::concat: return known_concat(cx, map);
    case ViewMap::Kind::reshape: {
      const auto* known = cx.known_value(static_cast<std::size_t>(map.source));
      return known && small_sizes(map.shape) ? std::optional(*known) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::vector<Dim>> known_constant(const Tensor& tensor) {
  if (!follows(tensor.elem()) || tensor.count() > 1024) return std::nullopt;
  std::vector<Dim> dims;
  for (std::int64_t i = 0; i < tensor.count(); ++i) dims.emplace_back(tensor.integer_at(i));
  return dims;
}

}  // namespace frazil
