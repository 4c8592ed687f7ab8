#include "ops/rules.h"

#include <algorithm>

namespace frazil::ops {

Result<Ints> known_ints(InferCx& cx, std::size_t i) {
  const std::string_view name = cx.node().op->inputs[i].name;
  Ints values;
  if (const Tensor* t = cx.constant(i)) {
    for (std::int64_t k = 0; k < t->count(); ++k) values.push_back(t->integer_at(k));
    return values;
  }
  const auto* content = cx.content(i);
  if (content == nullptr) return cx.unsupported("input '{}' must be known before the graph runs", name);
  for (Dim d : *content) {
    const auto value = cx.scope().constant(d);
    if (!value) return cx.unsupported("input '{}' must be known before the graph runs", name);
    values.push_back(*value);
  }
  return values;
}

Result<std::vector<int>> known_axes(InferCx& cx, std::size_t i, std::size_t rank) {
  FRAZIL_TRY(const Ints values, known_ints(cx, i));
  std::vector<int> axes;
  for (std::int64_t v : values) {
    FRAZIL_TRY(const int axis, cx.axis(v, rank, cx.node().op->inputs[i].name));
    if (std::ranges::find(axes, axis) != axes.end()) return cx.error("axis {} is given twice", v);
    axes.push_back(axis);
  }
  return axes;
}

Result<Dim> broadcast_dim(InferCx& cx, Dim a, Dim b) {
  FRAZIL_TRY(const Shape shape, cx.broadcast({a}, {b}));
  Scope& s = cx.scope();
  if (a == Dim(1) || b == Dim(1) || s.equal(a, b) == Proof::yes) return shape[0];
  // a is 1, b is 1 or they are equal.
  const Dim either = s.mul(s.sub(a, 1), s.sub(b, 1));
  FRAZIL_CHECK(cx.require_equal(s.mul(either, a), s.mul(either, b), "extents broadcast"));
  return shape[0];
}

Dim broadcast_step(Scope& scope, Dim dim, Dim out) {
  if (dim == Dim(1)) return 0;
  if (dim == out || scope.bounds(dim).min > 1) return 1;
  return scope.max(0, scope.min(1, scope.sub(dim, 1)));
}

ViewMap straight_view(const std::vector<Dim>& shape) {
  ViewMap map;
  map.shape = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) map.axes.push_back({.axis = static_cast<int>(d)});
  return map;
}

}  // namespace frazil::ops
