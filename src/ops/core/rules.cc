#include "ops/core/rules.h"

#include <algorithm>

namespace frazil::ops {

Result<Ints> known_ints(InferCx& cx, std::size_t i) {
  Ints values;
  if (const Tensor* t = cx.constant(i)) {
    for (std::int64_t k = 0; k < t->count(); ++k) values.push_back(t->integer_at(k));
    return values;
  }
  FRAZIL_TRY(const std::vector<Dim> dims, cx.ints(i));
  for (Dim d : dims) {
    const auto guess = static_cast<std::int64_t>(values.size());
    FRAZIL_TRY(const std::int64_t value, cx.assumed(d, guess, fmt::format("input '{}'", cx.port_name(i))));
    values.push_back(value);
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

bool is_known(InferCx& cx, std::size_t i) {
  if (cx.constant(i) != nullptr) return true;
  const auto* known = cx.known_value(i);
  return known != nullptr && std::ranges::all_of(*known, [&](Dim d) { return constant_of(cx.scope(), d).has_value(); });
}

Dim same_number(Scope& scope, Dim a, Dim b) {
  const Dim d = scope.sub(a, b);
  return scope.max(0, scope.sub(1, scope.max(d, scope.sub(0, d))));
}

Status require_at_least(InferCx& cx, Dim d, Dim low, std::string_view what) {
  Scope& s = cx.scope();
  if (s.less_equal(low, d) == Proof::yes) return {};
  FRAZIL_CHECK(cx.require_equal(d, s.max(d, low), fmt::format("{} is too small", what)));
  return {};
}

Status check_span(InferCx& cx, const Ints& list, std::int64_t low, std::string_view name) {
  constexpr std::int64_t kMaximum = (std::int64_t{1} << 31) - 1;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] < low || list[i] > kMaximum) {
      return cx.error("{}[{}] = {} is outside [{}, {}]", name, i, list[i], low, kMaximum);
    }
  }
  return {};
}

Status check_list(InferCx& cx, const Ints& list, std::size_t count, std::int64_t low, std::string_view name) {
  if (!list.empty() && list.size() != count)
    return cx.error("{} has {} entries, expected {}", name, list.size(), count);
  return check_span(cx, list, low, name);
}

namespace {

/// Returns the number of pairs of equal axes.
Dim repeated(Scope& scope, const std::vector<Dim>& axes) {
  Dim count = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) count = scope.add(count, same_number(scope, axes[i], axes[j]));
  }
  return count;
}

}  // namespace

Result<std::vector<Dim>> front_axes(InferCx& cx, std::size_t i, std::size_t rank) {
  if (is_known(cx, i)) {
    FRAZIL_TRY(const auto axes, known_axes(cx, i, rank));
    return std::vector<Dim>(axes.begin(), axes.end());
  }
  constexpr std::size_t kMaxAxes = 8;  // the expressions below grow with the fourth power
  const std::string_view name = cx.node().op->inputs[i].name;
  if (rank > kMaxAxes) {
    return cx.unsupported("input '{}' must be known before the graph runs where {} axes are more than {}", name, rank,
                          kMaxAxes);
  }
  FRAZIL_TRY(std::vector<Dim> axes, cx.ints(i));
  if (axes.size() > rank) return cx.error("input '{}' gives {} of {} axes", name, axes.size(), rank);
  Scope& s = cx.scope();
  const auto r = static_cast<std::int64_t>(rank);
  for (Dim& axis : axes) {
    FRAZIL_CHECK(cx.require_equal(axis, s.min(s.max(axis, -r), r - 1), fmt::format("axis in [{}, {})", -r, r)));
    axis = s.add(axis, s.mul(r, s.min(1, s.max(0, s.sub(0, axis)))));
  }
  FRAZIL_CHECK(cx.require_equal(repeated(s, axes), 0, "number of axes given twice"));
  return axes;
}

Result<std::vector<Dim>> axis_marks(InferCx& cx, std::size_t i, std::size_t rank) {
  FRAZIL_TRY(const std::vector<Dim> axes, front_axes(cx, i, rank));
  Scope& s = cx.scope();
  std::vector<Dim> marks;
  for (std::size_t d = 0; d < rank; ++d) {
    Dim hits = 0;
    for (Dim axis : axes) hits = s.add(hits, same_number(s, axis, static_cast<std::int64_t>(d)));
    marks.push_back(s.min(1, hits));
  }
  return marks;
}

std::vector<std::vector<Dim>> unmarked_places(Scope& scope, const std::vector<Dim>& marks, std::size_t count) {
  std::vector<std::vector<Dim>> places;
  Dim before = 0;
  for (Dim mark : marks) {
    const Dim kept = scope.sub(1, mark);
    auto& row = places.emplace_back();
    for (std::size_t j = 0; j < count; ++j) {
      row.push_back(scope.mul(kept, same_number(scope, before, static_cast<std::int64_t>(j))));
    }
    before = scope.add(before, kept);
  }
  return places;
}

Result<Dim> broadcast_dim(InferCx& cx, Dim a, Dim b) {
  FRAZIL_TRY(const Shape shape, cx.broadcast({a}, {b}));
  Scope& s = cx.scope();
  if (a == Dim(1) || b == Dim(1) || s.equal(a, b) == Proof::yes) return shape[0];
  // An extent of 1 is replaced by the other extent, so that a message shows two extents that do not broadcast.
  const auto unless_one = [&](Dim d, Dim other) { return s.add(d, s.mul(same_number(s, d, 1), s.sub(other, d))); };
  FRAZIL_CHECK(cx.require_equal(unless_one(a, b), unless_one(b, a), "extents broadcast"));
  return shape[0];
}

Dim broadcast_step(Scope& scope, Dim dim, Dim out) {
  if (dim == Dim(1)) return 0;
  if (dim == out || scope.bounds(dim).min > 1) return 1;
  return scope.max(0, scope.min(1, scope.sub(dim, 1)));
}

ViewMap reshape_view(std::vector<Dim> shape) {
  ViewMap map;
  map.kind = ViewMap::Kind::reshape;
  map.shape = std::move(shape);
  return map;
}

ViewMap straight_view(const std::vector<Dim>& shape) {
  ViewMap map;
  map.shape = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) map.axes.push_back({.axis = static_cast<int>(d)});
  return map;
}

}  // namespace frazil::ops
