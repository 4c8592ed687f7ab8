#include "plan/model/layout.h"

#include <algorithm>
#include <span>
#include <utility>

namespace frazil {

Layout row_major(Scope& scope, const Shape& shape) {
  Layout l{shape, std::vector<Dim>(shape.size(), Dim(1)), 0, true};
  Dim stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    l.strides[i] = stride;
    stride = scope.mul(stride, shape[i]);
  }
  return l;
}

Layout with_capacity(Scope& scope, const Shape& shape, std::size_t axis, Dim capacity) {
  Shape padded = shape;
  padded[axis] = capacity;
  Layout layout = row_major(scope, padded);
  layout.shape = shape;
  return layout;
}

bool is_row_major(Scope& scope, const Layout& layout) {
  const Layout plain = row_major(scope, layout.shape);
  for (std::size_t i = 0; i < layout.shape.size(); ++i) {
    if (layout.shape[i] != Dim(1) && layout.strides[i] != plain.strides[i]) return false;
  }
  return true;
}

Layout at_position(Scope& scope, Layout layout, std::size_t axis, Dim at) {
  layout.offset = scope.add(layout.offset, scope.mul(at, layout.strides[axis]));
  layout.shape.erase(layout.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  layout.strides.erase(layout.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  return layout;
}

namespace {

/// Returns the smallest numbers of leading axes of both shapes that hold equally many elements.
std::optional<std::pair<std::size_t, std::size_t>> equal_run(Scope& scope, std::span<const Dim> a,
                                                             std::span<const Dim> b) {
  for (std::size_t total = 1; total <= a.size() + b.size(); ++total) {
    for (std::size_t n = 0; n <= std::min(total, a.size()); ++n) {
      const std::size_t m = total - n;
      if (m <= b.size() && product(scope, a.first(n)) == product(scope, b.first(m))) return std::pair(n, m);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Layout> regrouped(Scope& scope, const Layout& from, const Shape& shape) {
  Layout to{shape, std::vector<Dim>(shape.size(), Dim(0)), from.offset, false};
  std::size_t i = 0, j = 0;
  while (i < from.shape.size() || j < shape.size()) {
    const auto run = equal_run(scope, std::span(from.shape).subspan(i), std::span(shape).subspan(j));
    if (!run) return std::nullopt;
    const std::size_t end_i = i + run->first, end_j = j + run->second;
    Dim stride = end_i > i ? from.strides[end_i - 1] : Dim(1);
    for (std::size_t k = end_i; k-- > i + 1;) {
      if (from.strides[k - 1] != scope.mul(from.strides[k], from.shape[k])) return std::nullopt;
    }
    for (std::size_t k = end_j; k-- > j;) {
      to.strides[k] = stride;
      stride = scope.mul(stride, shape[k]);
    }
    i = end_i, j = end_j;
  }
  return to;
}

}  // namespace frazil
