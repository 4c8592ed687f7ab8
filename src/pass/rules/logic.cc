#include "ops/elementwise/logic.h"

#include <array>

#include "pass/engine/rules.h"
#include "tensor/onnx_proto.h"

namespace frazil::pass {
namespace {

template <int Truth, std::size_t Constant>
bool beside(const Site& s) {
  return s.is(Constant, Truth) && s.same_type(1 - Constant);
}
bool is_not_of_not(const Site& s) { return s.maker(0, ops::Not) != nullptr; }
Expr without_nots(const Site& s, Builder& to) { return {&to, s.maker(0, ops::Not)->in[0]}; }

// ---- choices: the unused operand must not be able to fail ----

bool always_first(const Site& s) {
  return s.is(0, 1) && is_safe_broadcast(s.from, s.node) && s.same_type(1) && cannot_fail(s.graph, s.in[2]);
}
bool always_second(const Site& s) {
  return s.is(0, 0) && is_safe_broadcast(s.from, s.node) && s.same_type(2) && cannot_fail(s.graph, s.in[1]);
}
bool same_sides(const Site& s) {
  return s.in[1] == s.in[2] && is_safe_broadcast(s.from, s.node) && s.same_type(1) && cannot_fail(s.graph, s.in[0]);
}

// ---- conversions ----

bool casts_to_same(const Site& s) { return s.same_type(0); }

constexpr ElemSet set(std::initializer_list<Elem> elems) {
  ElemSet all = 0;
  for (Elem e : elems) all |= one(e);
  return all;
}

/// Returns the element types that hold every value of `elem`.
ElemSet wider(Elem elem) {
  switch (elem) {
    case Elem::boolean: return elems::kInt | elems::kFloat;
    case Elem::i8: return set({Elem::i16, Elem::i32, Elem::i64, Elem::f16, Elem::f32, Elem::f64});
    case Elem::u8:
      return set({Elem::i16, Elem::u16, Elem::i32, Elem::u32, Elem::i64, Elem::u64, Elem::f16, Elem::f32, Elem::f64});
    case Elem::i16: return set({Elem::i32, Elem::i64, Elem::f32, Elem::f64});
    case Elem::u16: return set({Elem::i32, Elem::u32, Elem::i64, Elem::u64, Elem::f32, Elem::f64});
    case Elem::i32: return set({Elem::i64, Elem::f64});
    case Elem::u32: return set({Elem::i64, Elem::u64, Elem::f64});
    case Elem::f16:
    case Elem::bf16: return set({Elem::f32, Elem::f64});
    case Elem::f32: return set({Elem::f64});
    default: return 0;
  }
}

bool casts_back(const Site& s) {
  const Node* inner = s.maker(0, ops::Cast);
  if (!inner) return false;
  const Elem first = s.graph.type(inner->in[0]).elem;
  return s.attrs<ops::CastAttrs>().to == first && contains(wider(first), s.elem(0));
}
Expr before_casts(const Site& s, Builder& to) { return {&to, s.maker(0, ops::Cast)->in[0]}; }

using N = Numerics;
constexpr Rule kLogicRules[] = {
    {"and_true", kOps<ops::And>, "x and true -> x", N::exact, when<beside<1, 1>, keep<0>>},
    {"true_and", kOps<ops::And>, "true and x -> x", N::exact, when<beside<1, 0>, keep<1>>},
    {"or_false", kOps<ops::Or, ops::Xor>, "x or false -> x, x xor false -> x", N::exact, when<beside<0, 1>, keep<0>>},
    {"false_or", kOps<ops::Or, ops::Xor>, "false or x -> x, false xor x -> x", N::exact, when<beside<0, 0>, keep<1>>},
    {"logic_same", kOps<ops::And, ops::Or>, "x and x -> x, x or x -> x", N::exact, when<same_operands, keep<0>>},
    {"not_not", kOps<ops::Not>, "not not x -> x", N::exact, when<is_not_of_not, without_nots>},
    {"where_true", kOps<ops::Where>, "where(true, x, y) -> x", N::exact, when<always_first, keep<1>>},
    {"where_false", kOps<ops::Where>, "where(false, x, y) -> y", N::exact, when<always_second, keep<2>>},
    {"where_same", kOps<ops::Where>, "where(c, x, x) -> x", N::exact, when<same_sides, keep<1>>},
    {"cast_same", kOps<ops::Cast>, "a cast to x's own type -> x", N::exact, when<casts_to_same, keep<0>>},
    {"cast_back", kOps<ops::Cast>, "a cast to a wider type and back -> x", N::exact, when<casts_back, before_casts>},
};

}  // namespace

std::span<const Rule> logic_rules() { return kLogicRules; }

}  // namespace frazil::pass
