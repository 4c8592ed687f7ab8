#include "ops/contraction/linalg.h"

#include <algorithm>
#include <cmath>

#include "ops/core/numbers.h"
#include "ops/core/rules.h"

namespace frazil::ops {

// ---- Det ----

Status det_types(InferCx& cx) {
  Shape shape = cx.shape(0);
  if (shape.size() < 2) return cx.error("the input must have at least 2 axes, got {}", cx.type_str(0));
  FRAZIL_CHECK(cx.require_equal(shape[shape.size() - 2], shape.back(), "extents of a square matrix"));
  shape.resize(shape.size() - 2);
  cx.out(0, Type::tensor(cx.elem(0), std::move(shape)));
  return {};
}

namespace {

/// Returns the row at or below `k` whose element in column `k` has the largest absolute value.
std::int64_t pivot_row(const double* m, std::int64_t n, std::int64_t k) {
  std::int64_t best = k;
  for (std::int64_t i = k + 1; i < n; ++i) {
    if (std::abs(m[i * n + k]) > std::abs(m[best * n + k])) best = i;
  }
  return best;
}

/// Computes the determinant by Gaussian elimination with row exchanges. Overwrites the matrix.
double determinant(double* m, std::int64_t n) {
  double result = 1;
  PollThrottle throttle;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t p = pivot_row(m, n, k);
    if (p != k) {
      std::swap_ranges(m + k * n, m + (k + 1) * n, m + p * n);
      result = -result;
    }
    const double pivot = m[k * n + k];
    result *= pivot;
    if (pivot == 0) return result;
    for (std::int64_t i = k + 1; i < n; ++i) {
      if (throttle.stop(n - k + 1)) return result;
      const double factor = m[i * n + k] / pivot;
      for (std::int64_t j = k + 1; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return result;
}

}  // namespace

Status det_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  FRAZIL_TRY(std::byte* const y, call.out(0, x.sizes.first(x.rank() - 2)));
  const std::int64_t count = element_count(x.sizes.first(x.rank() - 2));
  if (count == 0) return {};
  const std::int64_t n = x.sizes.back(), size = n * n;
  FRAZIL_TRY(std::byte* const memory, call.scratch(static_cast<std::size_t>(size) * sizeof(double)));
  auto* const m = reinterpret_cast<double*>(memory);
  PollThrottle throttle;
  for (std::int64_t i = 0; i < count && !throttle.stop(size + 1); ++i) {
    visit_storage(x.elem, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      for (std::int64_t k = 0; k < size; ++k) m[k] = to_number(element<T>(x.data, i * size + k));
      element<T>(y, i) = from_number<T>(determinant(m, n));
    });
  }
  return {};
}

// ---- Diagonal ----

Status diagonal_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  const auto& a = cx.attrs<DiagonalAttrs>();
  FRAZIL_TRY(const int first, cx.axis(a.first, cx.rank(0), "first"));
  FRAZIL_TRY(const int second, cx.axis(a.second, cx.rank(0), "second"));
  if (first >= second) return cx.error("axis {} does not come before axis {}", first, second);
  const Shape& in = cx.shape(0);
  const auto gone = static_cast<std::size_t>(second);
  FRAZIL_TRY(const Dim extent,
             cx.require_equal(in[static_cast<std::size_t>(first)], in[gone], "extents of a diagonal"));
  ViewMap map;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const int axis = d == gone ? first : static_cast<int>(map.shape.size());
    map.axes.push_back({.axis = axis});
    if (d != gone) map.shape.push_back(static_cast<int>(d) == first ? extent : in[d]);
  }
  maps.push_back(std::move(map));
  return {};
}

}  // namespace frazil::ops
