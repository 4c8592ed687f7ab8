#include "ops/ml/feature.h"

#include <cmath>

#include "base/value/text.h"
#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/index/index.h"
#include "ops/view/view.h"

namespace frazil::ops {

void array_feature_extractor_body(CompositeCx& cx) {
  const std::size_t rank = cx.rank(0);
  if (rank == 0) return cx.error("input 'X' must have an axis");
  const Expr places = Reshape(cx.in(1), cx.ints({-1}));
  const Expr z = Gather({cx.in(0), places}, {.axis = static_cast<std::int64_t>(rank) - 1});
  cx.out(0, rank == 1 ? Unsqueeze({z, cx.ints({0})}) : z);
}

namespace {

/// Returns whether an integer exceeds a threshold that may be fractional.
Sx above(Sx x, double threshold) {
  const double whole = std::floor(threshold);
  const double low = x.type() == Elem::i32 ? -0x1p31 : -0x1p63;
  const Sx never = lt(x, x);
  if (std::isnan(whole) || whole >= -low) return never;
  return whole < low ? lnot(never) : gt(x, Sx(x.rec->constant_int(x.type(), static_cast<std::int64_t>(whole))));
}

}  // namespace

Sx binarizer_body(Sx x, const BinarizerAttrs& a) {
  const Sx is_above = is_float(x.type()) ? gt(x, double{a.threshold}) : above(x, a.threshold);
  return select(is_above, lit(x, 1), lit(x, 0));
}

// ---- Imputer ----

namespace {

bool check_width(CompositeCx& cx, std::string_view name, std::size_t values) {
  if (values > 0) return true;
  cx.error("attribute '{}' is missing for {}", name, name_of(cx.elem(0)));
  return false;
}

/// Returns one value for all features, or one for each.
Expr per_feature(Expr values, std::string name, Expr x) {
  if (!values) return values;  // after an error
  if (values.type().shape[0] == Dim(1)) return Squeeze(values);
  return fit_broadcast(values, std::move(name), x);
}

Expr is_missing(CompositeCx& cx, const ImputerAttrs& a) {
  const Expr x = cx.in(0);
  if (!is_float(cx.elem(0))) return Equal(as_elem(x, Elem::i64), cx.builder().scalar(a.replaced_value_int64));
  return std::isnan(a.replaced_value_float) ? IsNaN(x) : Equal(x, cx.number(cx.elem(0), a.replaced_value_float));
}

std::optional<Expr> imputed_integers(CompositeCx& cx, const Ints& values) {
  if (!check_width(cx, "imputed_value_int64s", values.size())) return std::nullopt;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (cx.elem(0) != Elem::i32 || values[i] == static_cast<std::int32_t>(values[i])) continue;
    cx.error("imputed_value_int64s[{}] = {} does not fit i32", i, values[i]);
    return std::nullopt;
  }
  return per_feature(as_elem(cx.ints(values), cx.elem(0)), "imputed_value_int64s", cx.in(0));
}

std::optional<Expr> imputed_floats(CompositeCx& cx, const Floats& values) {
  if (!check_width(cx, "imputed_value_floats", values.size())) return std::nullopt;
  const Expr all = numbers(cx, cx.elem(0), {static_cast<std::int64_t>(values.size())}, values);
  return per_feature(all, "imputed_value_floats", cx.in(0));
}

}  // namespace

void imputer_body(CompositeCx& cx) {
  const auto& a = cx.attrs<ImputerAttrs>();
  const auto imputed =
      is_float(cx.elem(0)) ? imputed_floats(cx, a.imputed_value_floats) : imputed_integers(cx, a.imputed_value_int64s);
  if (imputed) cx.out(0, Where(is_missing(cx, a), *imputed, cx.in(0)));
}

// ---- Scaler, Normalizer ----

namespace {

Expr scaler_operand(CompositeCx& cx, const Floats& values, std::string name, Expr x) {
  return per_feature(numbers(cx, x.type().elem, {static_cast<std::int64_t>(values.size())}, values), std::move(name),
                     x);
}

}  // namespace

void scaler_body(CompositeCx& cx) {
  const auto& a = cx.attrs<ScalerAttrs>();
  const Expr x = as_real(cx.in(0));
  Expr y = x;
  if (!a.offset.empty()) y = Sub(y, scaler_operand(cx, a.offset, "offset", x));
  if (!a.scale.empty()) y = Mul(y, scaler_operand(cx, a.scale, "scale", x));
  cx.out(0, as_elem(y, Elem::f32));
}

void normalizer_body(CompositeCx& cx) {
  const std::string& norm = cx.attrs<NormalizerAttrs>().norm;
  if (cx.rank(0) != 1 && cx.rank(0) != 2) {
    return cx.error("input 'X' must be [C] or [N, C], it has {} axes", cx.rank(0));
  }
  if (norm != "MAX" && norm != "L1" && norm != "L2") {
    return cx.error("norm '{}' is not one of MAX, L1, L2", printable(norm));
  }
  const Expr x = as_real(cx.in(0)), axes = cx.ints({-1});
  const ReduceAttrs keep{.keepdims = 1};
  const Expr size = norm == "MAX"  ? ReduceMax({x, axes}, keep)
                    : norm == "L1" ? ReduceL1({x, axes}, keep)
                                   : ReduceL2({x, axes}, keep);
  const Expr divisor = Where(Equal(size, cx.number(x.type().elem, 0)), cx.number(x.type().elem, 1), size);
  cx.out(0, as_elem(Div(x, divisor), Elem::f32));
}

// ---- FeatureVectorizer ----

namespace {

/// Returns x [N, C], truncated or zero-padded to `columns` columns.
Expr of_width(CompositeCx& cx, Expr x, std::int64_t columns) {
  if (!x || x.type().shape[1] == Dim(columns)) return x;
  const Expr wide = Pad({x, cx.ints({0, 0, 0, columns})});
  return cut(cx, wide, 1, int1(cx, 0), int1(cx, columns));
}

}  // namespace

void feature_vectorizer_body(CompositeCx& cx) {
  const Ints& widths = cx.attrs<FeatureVectorizerAttrs>().inputdimensions;
  if (!widths.empty() && widths.size() != cx.input_count()) {
    return cx.error("inputdimensions has {} entries for {} inputs", widths.size(), cx.input_count());
  }
  std::vector<Expr> parts;
  for (std::size_t i = 0; i < cx.input_count(); ++i) {
    const std::size_t rank = cx.rank(i);
    if (rank != 1 && rank != 2) return cx.error("input {} must be [C] or [N, C], it has {} axes", i, rank);
    Expr x = as_elem(cx.in(i), Elem::f32);
    if (rank == 1) x = Unsqueeze({x, cx.ints({0})});
    constexpr std::int64_t kMaximum = std::int64_t{1} << 31;
    if (!widths.empty() && (widths[i] < 0 || widths[i] >= kMaximum)) {
      return cx.error("inputdimensions[{}] = {} is outside [0, {})", i, widths[i], kMaximum);
    }
    parts.push_back(widths.empty() ? x : of_width(cx, x, widths[i]));
  }
  if (parts.empty()) return cx.error("needs at least one input");
  cx.out(0, Concat(std::span<const Expr>(parts), {.axis = 1}));
}

}  // namespace frazil::ops
