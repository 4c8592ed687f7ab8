#pragma once

#include "ir/op/define.h"
#include "ops/text/text.h"

// Logical operators, comparisons and conversions.
namespace frazil::ops {

FRAZIL_OP(And, elementwise<2>({"And", 7, "True where both are."}, binary<elems::kBool>,
                              [](Sx a, Sx b) { return land(a, b); }));
FRAZIL_OP(Or, elementwise<2>({"Or", 7, "True where at least one is."}, binary<elems::kBool>,
                             [](Sx a, Sx b) { return lor(a, b); }));
FRAZIL_OP(Xor, elementwise<2>({"Xor", 7, "True where exactly one is."}, binary<elems::kBool>,
                              [](Sx a, Sx b) { return lxor(a, b); }));
FRAZIL_OP(Not, elementwise<1>({"Not", 1, "True where X is false."}, unary<elems::kBool>, [](Sx x) { return lnot(x); }));

FRAZIL_OP(Equal, elementwise<2>({"Equal", {19, 7}, "A == B; NaN equals nothing."},
                                compare<elems::kNumeric | elems::kBool | elems::kString>,
                                [](Sx a, Sx b) { return eq(a, b); }));
FRAZIL_OP(Less,
          elementwise<2>({"Less", {13, 7}, "A < B."}, compare<elems::kNumeric>, [](Sx a, Sx b) { return lt(a, b); }));
FRAZIL_OP(Greater, elementwise<2>({"Greater", {13, 7}, "A > B."}, compare<elems::kNumeric>,
                                  [](Sx a, Sx b) { return gt(a, b); }));
FRAZIL_OP(LessOrEqual, elementwise<2>({"LessOrEqual", {16, 12}, "A <= B."}, compare<elems::kNumeric>,
                                      [](Sx a, Sx b) { return le(a, b); }));
FRAZIL_OP(GreaterOrEqual, elementwise<2>({"GreaterOrEqual", {16, 12}, "A >= B."}, compare<elems::kNumeric>,
                                         [](Sx a, Sx b) { return ge(a, b); }));

/// The element types with scalar arithmetic: all but strings and complex numbers.
inline constexpr ElemSet kScalarElems = elems::kTensor & ~(elems::kString | one(Elem::c64) | one(Elem::c128));
inline constexpr std::array<Port, 3> kWhereIn{
    {{"condition", "", elems::kBool}, {"X", "T", elems::kTensor}, {"Y", "T", elems::kTensor}}};
FRAZIL_OP(Where, elementwise<3>({"Where", {16, 9}, "X where the condition holds, else Y."},
                                {kWhereIn, kPortY<elems::kTensor>}, [](Sx c, Sx x, Sx y) { return select(c, x, y); }));

struct CastAttrs {
  Elem to = Elem::f32;
  std::int64_t saturate = 1;
  std::string round_mode = "up";
  static constexpr std::array fields{
      required<&CastAttrs::to>("to", "ONNX number of the element type"),
      attr<&CastAttrs::saturate>("saturate", "8-bit floats: 1 saturates to the largest number", 19),
      attr<&CastAttrs::round_mode>("round_mode", "f8e8m0: only up is supported", 24)};
};
Sx cast_body(Sx x, const CastAttrs& a);
Elem cast_result(const void* attrs, std::span<const Elem> inputs);
Status cast_check(const void* attrs);
inline constexpr ElemSet kCastElems = kScalarElems | elems::kString;
inline constexpr std::array<Port, 1> kCastIn{{{"input", "T1", kCastElems}}}, kCastOut{{{"output", "T2", kCastElems}}};
FRAZIL_OP(Cast, elementwise<1, CastAttrs>(
                    {"Cast", {25, 6}, "The same values in another element type."}, {kCastIn, kCastOut},
                    [](Sx x, const CastAttrs& a) { return cast_body(x, a); }, cast_result, cast_check, cast_plain));

struct CastLikeAttrs {
  std::int64_t saturate = 1;
  std::string round_mode = "up";
  static constexpr std::array fields{attr<&CastLikeAttrs::saturate>("saturate", "as in Cast", 19),
                                     attr<&CastLikeAttrs::round_mode>("round_mode", "as in Cast", 24)};
};
void cast_like_body(CompositeCx& cx);
inline constexpr std::array<Port, 2> kCastLikeIn{{{"input", "T1", kCastElems}, {"target_type", "T2", kCastElems}}};
FRAZIL_OP(CastLike,
          composite<CastLikeAttrs>({"CastLike", {25, 15}, "The same values in the second input's element type."},
                                   {kCastLikeIn, kCastOut}, cast_like_body));

}  // namespace frazil::ops
