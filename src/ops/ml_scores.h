#pragma once

#include "ir/define.h"

// What the models of ai.onnx.ml share.
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

/// The normal distribution's quantile at X as ONNX's reference computes it: right to about 2e-3.
Sx probit(Sx p);
FRAZIL_OP(Probit, elementwise<1>({"Probit", 1, "About the quantile of the normal distribution.", "frazil"},
                                 unary<elems::kFloat>, [](Sx p) { return probit(p); }));

enum class PostTransform : std::uint8_t { none, softmax, logistic, softmax_zero, probit };
/// "NONE", "SOFTMAX", ...; an error of `cx` for anything else.
PostTransform post_transform_of(CompositeCx& cx, std::string_view name);
/// The transform over rows of scores [N, E].
Expr transformed(CompositeCx& cx, Expr scores, PostTransform transform);

/// A vector, or a matrix in row-major order, of `elem`.
Expr numbers(CompositeCx& cx, Elem elem, Sizes sizes, std::span<const float> values);
/// X in the type that models compute in: f64 stays, the rest is f32.
Expr as_real(Expr x);
/// Input 0 as_real and as rows: [C] is one row. Other ranks are an error.
Expr rows(CompositeCx& cx);
/// The same, each row of `features` numbers.
Expr rows_of(CompositeCx& cx, std::int64_t features);

/// Labels of classes: integers or strings, whichever are given.
struct ClassLabels {
  const Ints& integers;
  const Strings& strings;
  bool are_text() const { return !strings.empty(); }
  std::size_t count() const { return are_text() ? strings.size() : integers.size(); }
  /// All labels; with `other`, behind them the label of no class: 0 or "".
  Expr tensor(CompositeCx& cx, bool other = false) const;
  /// False, and an error, unless exactly one list is given.
  bool check(CompositeCx& cx) const;
};

/// The label of the greatest of each row's scores [N, E], the first of equal ones.
Expr best_label(CompositeCx& cx, Expr scores, const ClassLabels& labels);
/// Outputs 0 and 1 from scores [N, E] before the transform. One score of two labels speaks for the second, and its
/// negative for the first; of one label it says whether that applies.
void give_labelled(CompositeCx& cx, Expr scores, const ClassLabels& labels, PostTransform transform);

template <class A>
Elem label_elem(const void* attrs, std::span<const Elem>) {
  return static_cast<const A*>(attrs)->labels().are_text() ? Elem::string : Elem::i64;
}

}  // namespace frazil::ops
