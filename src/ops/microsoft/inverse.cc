#include "ops/microsoft/inverse.h"

#include <algorithm>
#include <cmath>

#include "ops/core/numbers.h"
#include "ops/core/rules.h"

namespace frazil::ops::microsoft {

Status inverse_types(InferCx& cx) {
  Shape shape = cx.shape(0);
  if (shape.size() < 2) return cx.error("the input must have at least 2 axes, got {}", cx.type_str(0));
  const Dim rows = shape[shape.size() - 2];
  FRAZIL_TRY(shape.back(), cx.require_equal(rows, shape.back(), "extents of a square matrix"));
  shape[shape.size() - 2] = shape.back();
  cx.out(0, Type::tensor(cx.elem(0), std::move(shape)));
  return {};
}

namespace {

/// The rows of a matrix, each followed by the same row of another matrix.
class Pairs {
 public:
  Pairs(double* m, std::int64_t n) : m_(m), n_(n) {}
  double& left(std::int64_t i, std::int64_t j) { return m_[2 * i * n_ + j]; }
  double& right(std::int64_t i, std::int64_t j) { return m_[(2 * i + 1) * n_ + j]; }

  /// Reduces the left side to the identity by row operations. Returns false if the run must stop.
  bool reduce(PollThrottle& throttle) {
    for (std::int64_t k = 0; k < n_; ++k) {
      bring_up(k);
      const double pivot = left(k, k);
      for (std::int64_t j = 0; j < 2 * n_; ++j) left(k, j) /= pivot;
      for (std::int64_t i = 0; i < n_; ++i) {
        if (throttle.stop(2 * n_)) return false;
        if (i != k) subtract(i, k, left(i, k));
      }
    }
    return true;
  }

 private:
  /// Pivots: swaps row `k` with the row, at or below it, that has the largest absolute element in column `k`.
  void bring_up(std::int64_t k) {
    std::int64_t best = k;
    for (std::int64_t i = k + 1; i < n_; ++i) {
      if (std::abs(left(i, k)) > std::abs(left(best, k))) best = i;
    }
    if (best != k) std::swap_ranges(&left(k, 0), &left(k, 0) + 2 * n_, &left(best, 0));
  }
  void subtract(std::int64_t from, std::int64_t row, double factor) {
    for (std::int64_t j = 0; j < 2 * n_; ++j) left(from, j) -= factor * left(row, j);
  }
  double* m_;
  std::int64_t n_;
};

template <class T>
bool invert(const std::byte* x, std::byte* y, std::int64_t first, std::int64_t n, double* memory,
            PollThrottle& throttle) {
  Pairs pairs(memory, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      pairs.left(i, j) = to_number(element<T>(x, first + i * n + j));
      pairs.right(i, j) = i == j ? 1 : 0;
    }
  }
  if (!pairs.reduce(throttle)) return false;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) element<T>(y, first + i * n + j) = from_number<T>(pairs.right(i, j));
  }
  return true;
}

}  // namespace

Status inverse_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  FRAZIL_TRY(std::byte* const y, call.out(0, x.sizes));
  if (x.count() == 0) return {};
  const std::int64_t n = x.sizes.back(), size = n * n;
  FRAZIL_TRY(std::byte* const memory, call.scratch(static_cast<std::size_t>(size) * 2 * sizeof(double)));
  auto* const m = reinterpret_cast<double*>(memory);
  PollThrottle throttle;
  bool going = true;
  for (std::int64_t first = 0; going && first < x.count(); first += size) {
    going = going && !throttle.stop(size);
    visit_storage(x.elem, [&](auto* type) {
      going = going && invert<std::remove_pointer_t<decltype(type)>>(x.data, y, first, n, m, throttle);
    });
  }
  return {};
}

}  // namespace frazil::ops::microsoft
