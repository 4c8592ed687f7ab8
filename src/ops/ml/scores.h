#pragma once

#include "ir/op/define.h"

// Shared by the models of ai.onnx.ml.
namespace frazil::ops {

inline constexpr std::string_view kMl = "ai.onnx.ml";
inline constexpr ElemSet kMlNumbers = elems::kF32 | one(Elem::f64) | elems::kIndex;
inline constexpr ElemSet kMlLabels = elems::kI64 | elems::kString;

inline constexpr std::array<Port, 1> kMlIn{{{"X", "T", kMlNumbers}}};
inline constexpr std::array<Port, 1> kMlScores{{{"Y", "", elems::kF32}}};
inline constexpr std::array<Port, 2> kMlLabelled{{
    {"Y", "", kMlLabels},
    {"Z", "", elems::kF32, Port::Use::optional},
}};

/// The normal quantile at X as computed by ONNX's reference: accurate to about 2e-3.
Sx probit(Sx p);
FRAZIL_OP(Probit, elementwise<1>({"Probit", 1, "About the quantile of the normal distribution.", "frazil"},
                                 unary<elems::kFloat>, [](Sx p) { return probit(p); }));

enum class PostTransform : std::uint8_t { none, softmax, logistic, softmax_zero, probit };
/// "NONE", "SOFTMAX", ...; an error in `cx` for other names.
PostTransform post_transform_of(CompositeCx& cx, std::string_view name);
/// The transform over rows of scores [N, E].
Expr transformed(CompositeCx& cx, Expr scores, PostTransform transform);

/// A vector or row-major matrix of element type `elem`.
Expr numbers(CompositeCx& cx, Elem elem, Sizes sizes, std::span<const float> values);
/// X in the type that models compute in: f64 stays f64, others become f32.
Expr as_real(Expr x);
/// Input 0 as_real and as rows: [C] is one row. Other ranks are an error.
Expr rows(CompositeCx& cx);
/// As rows, each of `features` numbers.
Expr rows_of(CompositeCx& cx, std::int64_t features);

/// Class labels: integers or strings, whichever are set.
struct ClassLabels {
  const Ints& integers;
  const Strings& strings;
  bool are_text() const { return !strings.empty(); }
  std::size_t count() const { return are_text() ? strings.size() : integers.size(); }
  /// All labels; with `other`, followed by the label of no class: 0 or "".
  Expr tensor(CompositeCx& cx, bool other = false) const;
  /// False, with an error, unless exactly one list is set.
  bool check(CompositeCx& cx) const;
};

/// The label of the highest score in each row [N, E]; the first of equal ones.
Expr best_label(CompositeCx& cx, Expr scores, const ClassLabels& labels);
/// Sets outputs 0 and 1 from scores [N, E] before the transform. With one score and two labels, the score belongs to
/// the second and its negative to the first; with one label, it decides whether the label applies.
void give_labelled(CompositeCx& cx, Expr scores, const ClassLabels& labels, PostTransform transform);

template <class A>
Elem label_elem(const void* attrs, std::span<const Elem>) {
  return static_cast<const A*>(attrs)->labels().are_text() ? Elem::string : Elem::i64;
}

}  // namespace frazil::ops
