#pragma once

#include "ir/op/define.h"

// Helpers that the models of ai.onnx.ml share.
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

/// Computes the normal quantile at X as the ONNX reference does: accurate to about 2e-3.
Sx probit(Sx p);
FRAZIL_OP(Probit, elementwise<1>({"Probit", 1, "About the quantile of the normal distribution.", "frazil"},
                                 unary<elems::kFloat>, [](Sx p) { return probit(p); }));

enum class PostTransform : std::uint8_t { none, softmax, logistic, softmax_zero, probit };
/// Parses "NONE", "SOFTMAX", .... Reports an error in `cx` for other names.
PostTransform post_transform_of(CompositeCx& cx, std::string_view name);
/// Applies the transform to the rows of scores [N, E].
Expr transformed(CompositeCx& cx, Expr scores, PostTransform transform);

/// Returns a vector or row-major matrix of element type `elem`.
Expr numbers(CompositeCx& cx, Elem elem, Sizes sizes, std::span<const float> values);
/// Returns X in the type that models compute in: f64 stays f64, other types become f32.
Expr as_real(Expr x);
/// Returns as_real of input 0 as rows. [C] becomes one row; other ranks than 1 and 2 are an error.
Expr rows(CompositeCx& cx);
/// Returns rows(), with a check that each row has `features` numbers.
Expr rows_of(CompositeCx& cx, std::int64_t features);

/// The labels of classes: integers or strings, whichever are set.
struct ClassLabels {
  const Ints& integers;
  const Strings& strings;
  bool are_text() const { return !strings.empty(); }
  std::size_t count() const { return are_text() ? strings.size() : integers.size(); }
  /// Returns all labels. With `other`, appends the label of no class: 0 or "".
  Expr tensor(CompositeCx& cx, bool other = false) const;
  /// Returns true if exactly one list is set, else reports an error.
  bool check(CompositeCx& cx) const;
};

/// Returns the label of the highest score in each row [N, E], or the first of equal scores.
Expr best_label(CompositeCx& cx, Expr scores, const ClassLabels& labels);
/// Sets outputs 0 (labels) and 1 (scores) from scores [N, E] before the transform. With one score and two labels, the
/// second label takes the score and the first its negative. With one label, the score decides whether the label
/// applies.
void output_labels(CompositeCx& cx, Expr scores, const ClassLabels& labels, PostTransform transform);

template <class A>
Elem label_elem(const void* attrs, std::span<const Elem>) {
  return static_cast<const A*>(attrs)->labels().are_text() ? Elem::string : Elem::i64;
}

}  // namespace frazil::ops
