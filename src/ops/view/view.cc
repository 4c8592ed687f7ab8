#include "ops/view/view.h"

#include <algorithm>
#include <numeric>

#include "ops/core/rules.h"

namespace frazil::ops {
namespace {

using Extents = std::vector<Dim>;
using AxisMap = ViewMap::AxisMap;

void add_reshape(std::vector<ViewMap>& maps, Extents shape) { maps.push_back(reshape_view(std::move(shape))); }

bool is_zero(Dim d) { return d == Dim(0); }

// ---- Reshape ----

/// An entry of the target shape whose sign is unknown. Each member is a single expression, so that products stay small.
struct Loose {
  Dim factor;    ///< the entry's factor in the known product: 1 for -1
  Dim extent;    ///< the extent, or 0 for -1
  Dim inferred;  ///< 1 for -1, else 0
};
Loose loose_entry(Scope& s, Dim value) {
  const Dim magnitude = s.max(value, s.sub(0, value));
  return {magnitude, s.max(value, 0), s.min(1, s.max(0, s.sub(0, value)))};
}

/// Returns the entry if 0 copies the extent `from`. If that extent may be 0, it is replaced by 1 on both sides, so that
/// it does not affect -1.
Loose copying_entry(Scope& s, Dim value, Dim& from) {
  Loose entry = loose_entry(s, value);
  const Dim copies = s.max(0, s.sub(1, entry.factor)), copy = s.mul(from, copies);
  const bool cancels = s.bounds(from).min > 0;
  entry.factor = s.max(entry.factor, cancels ? copy : copies);
  entry.extent = s.max(value, copy);
  if (!cancels) from = s.max(copies, s.mul(from, s.sub(1, copies)));
  return entry;
}

/// Returns the products of two lists of extents without the symbolic extents common to both.
std::pair<Dim, Dim> reduced_products(Scope& s, Extents a, Extents b) {
  const bool empty = std::ranges::any_of(a, is_zero) || std::ranges::any_of(b, is_zero);
  for (auto it = a.begin(); !empty && it != a.end();) {
    const auto same = std::ranges::find(b, *it);
    if (it->is_const() || same == b.end()) {
      ++it;
    } else {
      b.erase(same);
      it = a.erase(it);
    }
  }
  return {product(s, a), product(s, b)};
}

/// The target of a Reshape. An entry to be inferred has factor 1 and extent 0.
struct Target {
  Extents input;  ///< the extents of the input that determine -1
  Extents factors, extents;
  Extents inferred;                 ///< 1, 0 or an expression whose value is one of them
  std::vector<std::size_t> copied;  ///< axes that are certainly copied

  void add(Dim factor, Dim extent, Dim is_inferred) {
    factors.push_back(factor);
    extents.push_back(extent);
    inferred.push_back(is_inferred);
  }
};

Result<Target> read_target(InferCx& cx, const Extents& values) {
  const Extents& in = cx.shape(0);
  const bool copies = cx.attrs<ReshapeAttrs>().allowzero == 0;
  Target t{.input = in};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Dim v = values[i];
    if (v == Dim(0) && copies) {
      if (i >= in.size()) return cx.error("shape[{}] = 0 copies axis {} of an input with {} axes", i, i, in.size());
      t.add(in[i], in[i], 0);
      t.copied.push_back(i);
    } else if (v == Dim(-1)) {
      t.add(1, 0, 1);
    } else if (v.is_const() || cx.scope().bounds(v).min >= 0) {
      if (v.is_const() && v.value() < 0) return cx.error("shape[{}] = {} is negative", i, v.value());
      t.add(v, v, 0);
    } else {
      const bool may_copy = copies && i < in.size();
      const Loose loose = may_copy ? copying_entry(cx.scope(), v, t.input[i]) : loose_entry(cx.scope(), v);
      t.add(loose.factor, loose.extent, loose.inferred);
    }
  }
  return t;
}

/// Returns the extents without the copied axes, which do not affect -1 even if they are 0.
Extents without(const Extents& extents, const std::vector<std::size_t>& copied) {
  Extents rest;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (std::ranges::find(copied, i) == copied.end()) rest.push_back(extents[i]);
  }
  return rest;
}

}  // namespace

Status reshape_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  if (cx.rank(1) != 1) return cx.error("input 'shape': expected i64[n], got {}", cx.type_str(1));
  FRAZIL_TRY(const Extents values, cx.ints(1));
  FRAZIL_TRY(Target t, read_target(cx, values));
  if (std::ranges::count(values, Dim(-1)) > 1) return cx.error("shape has more than one -1");
  Scope& s = cx.scope();
  if (std::ranges::all_of(t.inferred, is_zero)) {
    const auto [have, want] = reduced_products(s, cx.shape(0), t.factors);
    FRAZIL_CHECK(cx.require_equal(have, want, "element count"));
    add_reshape(maps, std::move(t.extents));
    return {};
  }
  const auto [have, want] = reduced_products(s, without(t.input, t.copied), without(t.factors, t.copied));
  if (is_zero(want)) return cx.error("the extent for -1 is not determined, as other extents are 0");
  if (cx.attrs<ReshapeAttrs>().allowzero != 0) {
    Dim inferred = 0;
    for (Dim d : t.inferred) inferred = s.max(inferred, d);
    FRAZIL_CHECK(require_at_least(cx, s.max(want, s.sub(0, want)), inferred, "element count beside -1"));
  }
  const Dim rest = s.floordiv(have, want);
  Extents shape;
  for (std::size_t i = 0; i < t.extents.size(); ++i) {
    shape.push_back(t.inferred[i] == Dim(1) ? rest : s.max(t.extents[i], s.mul(t.inferred[i], rest)));
  }
  const auto [before, after] = reduced_products(s, cx.shape(0), shape);
  FRAZIL_CHECK(cx.require_equal(before, after, "element count"));
  add_reshape(maps, std::move(shape));
  return {};
}

Status flatten_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  const Extents& in = cx.shape(0);
  const auto rank = static_cast<std::int64_t>(in.size());
  std::int64_t axis = cx.attrs<FlattenAttrs>().axis;
  if (axis < -rank || axis > rank) return cx.error("axis {} is outside [{}, {}]", axis, -rank, rank);
  if (axis < 0) axis += rank;
  const auto cut = static_cast<std::size_t>(axis);
  const std::span<const Dim> all(in);
  add_reshape(maps, {product(cx.scope(), all.first(cut)), product(cx.scope(), all.subspan(cut))});
  return {};
}

Status split_axis_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  const auto& a = cx.attrs<SplitAxisAttrs>();
  Extents shape = cx.shape(0);
  FRAZIL_TRY(const int axis, cx.axis(a.axis, shape.size()));
  if (std::min(a.outer, a.inner) != 0 || std::max(a.outer, a.inner) < 1) {
    return cx.error("exactly one of outer and inner must be given, got {} and {}", a.outer, a.inner);
  }
  const std::int64_t fixed = std::max(a.outer, a.inner);
  const Dim whole = shape[static_cast<std::size_t>(axis)], rest = cx.scope().floordiv(whole, fixed);
  FRAZIL_CHECK(
      cx.require_equal(cx.scope().mul(rest, fixed), whole, fmt::format("axis {} in parts of {}", axis, fixed)));
  shape[static_cast<std::size_t>(axis)] = a.inner > 0 ? Dim(fixed) : rest;
  shape.insert(shape.begin() + axis, a.inner > 0 ? rest : Dim(fixed));
  add_reshape(maps, std::move(shape));
  return {};
}

Status fit_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  const auto& a = cx.attrs<FitAttrs>();
  FRAZIL_TRY(const Extents wanted, cx.ints(1));
  const Extents in = cx.shape(0);
  const bool broadcasts = a.broadcasts != 0;
  if (broadcasts ? in.size() > wanted.size() : in.size() != wanted.size()) {
    return cx.error("input '{}' must have {}{} axes, got {}", a.name, broadcasts ? "at most " : "", wanted.size(),
                    cx.type_str(0));
  }
  Scope& s = cx.scope();
  ViewMap map = straight_view(in);
  for (std::size_t d = 0; d < in.size(); ++d) {
    const Dim to = wanted[wanted.size() - in.size() + d];
    const Dim one = broadcasts ? same_number(s, in[d], 1) : Dim(0);
    FRAZIL_TRY(const Dim known, cx.require_equal(in[d], s.add(to, s.mul(one, s.sub(1, to))),
                                                 fmt::format("extent {} of input '{}'", d, a.name)));
    if (!broadcasts) map.shape[d] = known;
  }
  maps.push_back(std::move(map));
  return {};
}

Status merge_axes_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  const auto& a = cx.attrs<MergeAxesAttrs>();
  const Extents& in = cx.shape(0);
  FRAZIL_TRY(const int axis, cx.axis(a.axis, in.size()));
  const auto first = static_cast<std::size_t>(axis), count = static_cast<std::size_t>(a.count);
  if (a.count < 1 || count > in.size() - first) return cx.error("cannot join {} axes from axis {}", a.count, axis);
  Extents shape(in.begin(), in.begin() + axis);
  shape.push_back(product(cx.scope(), std::span(in).subspan(first, count)));
  shape.insert(shape.end(), in.begin() + axis + static_cast<std::ptrdiff_t>(count), in.end());
  add_reshape(maps, std::move(shape));
  return {};
}

// ---- Squeeze, Unsqueeze ----

namespace {

/// Returns for each axis whether Squeeze removes it.
Result<std::vector<bool>> squeezed_axes(InferCx& cx) {
  const Extents& in = cx.shape(0);
  std::vector<bool> drop(in.size(), false);
  Scope& s = cx.scope();
  if (cx.has(1)) {
    FRAZIL_TRY(const std::vector<int> axes, known_axes(cx, 1, in.size()));
    for (int axis : axes) {
      const auto d = static_cast<std::size_t>(axis);
      FRAZIL_CHECK(cx.require_equal(in[d], 1, fmt::format("extent of squeezed axis {}", axis)));
      drop[d] = true;
    }
    return drop;
  }
  for (std::size_t d = 0; d < in.size(); ++d) {
    FRAZIL_TRY(const std::int64_t is_one,
               cx.assumed(same_number(s, in[d], 1), 0, fmt::format("the extent of axis {}", d)));
    drop[d] = is_one != 0;
  }
  return drop;
}

Status squeeze_at_run_time(InferCx& cx, std::vector<ViewMap>& maps) {
  const Extents& in = cx.shape(0);
  Scope& s = cx.scope();
  FRAZIL_TRY(const Extents marks, axis_marks(cx, 1, in.size()));
  FRAZIL_TRY(const std::int64_t given, cx.assumed_count(1));
  const auto named = static_cast<std::size_t>(given);
  if (named > in.size()) return cx.error("{} axes of an input with {}", named, in.size());
  const auto places = unmarked_places(s, marks, in.size() - named);
  Extents shape(in.size() - named, 0);
  for (std::size_t j = 0; j < shape.size(); ++j) {
    for (std::size_t d = 0; d < in.size(); ++d) shape[j] = s.add(shape[j], s.mul(places[d][j], in[d]));
  }
  FRAZIL_CHECK(cx.require_equal(product(s, in), product(s, shape), "element count without the squeezed axes"));
  add_reshape(maps, std::move(shape));
  return {};
}

Status unsqueeze_at_run_time(InferCx& cx, std::size_t rank, std::vector<ViewMap>& maps) {
  const Extents& in = cx.shape(0);
  Scope& s = cx.scope();
  FRAZIL_TRY(const Extents marks, axis_marks(cx, 1, rank));
  const auto places = unmarked_places(s, marks, in.size());
  Extents shape = marks;
  for (std::size_t e = 0; e < rank; ++e) {
    for (std::size_t d = 0; d < in.size(); ++d) shape[e] = s.add(shape[e], s.mul(places[e][d], in[d]));
  }
  add_reshape(maps, std::move(shape));
  return {};
}

}  // namespace

Status squeeze_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  if (cx.has(1) && !is_known(cx, 1)) return squeeze_at_run_time(cx, maps);
  FRAZIL_TRY(const std::vector<bool> drop, squeezed_axes(cx));
  ViewMap map;
  for (std::size_t d = 0; d < drop.size(); ++d) {
    map.axes.push_back({.axis = drop[d] ? -1 : static_cast<int>(map.shape.size())});
    if (!drop[d]) map.shape.push_back(cx.shape(0)[d]);
  }
  maps.push_back(std::move(map));
  return {};
}

Status unsqueeze_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  constexpr std::int64_t kMaxAdded = 1024;
  const Extents& in = cx.shape(0);
  FRAZIL_TRY(const std::int64_t added, cx.assumed_count(1));
  if (added > kMaxAdded)
    return cx.unsupported("input 'axes' has {} elements, at most {} are allowed", added, kMaxAdded);
  const std::size_t rank = in.size() + static_cast<std::size_t>(added);
  if (!is_known(cx, 1)) return unsqueeze_at_run_time(cx, rank, maps);
  FRAZIL_TRY(const std::vector<int> axes, known_axes(cx, 1, rank));
  ViewMap map;
  for (std::size_t d = 0; d < rank; ++d) {
    if (std::ranges::find(axes, static_cast<int>(d)) != axes.end()) {
      map.shape.emplace_back(1);
    } else {
      map.shape.push_back(in[map.axes.size()]);
      map.axes.push_back({.axis = static_cast<int>(d)});
    }
  }
  maps.push_back(std::move(map));
  return {};
}

// ---- Transpose, Expand, Tile ----

Status transpose_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  const Extents& in = cx.shape(0);
  Ints perm = cx.attrs<TransposeAttrs>().perm;
  if (perm.empty()) {
    perm.resize(in.size());
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  if (perm.size() != in.size()) return cx.error("perm has {} entries for {} axes", perm.size(), in.size());
  ViewMap map;
  map.axes.resize(in.size());
  for (std::size_t j = 0; j < perm.size(); ++j) {
    FRAZIL_TRY(const int from, cx.axis(perm[j], in.size(), "perm"));
    AxisMap& axis = map.axes[static_cast<std::size_t>(from)];
    if (axis.axis >= 0) return cx.error("perm names axis {} twice", from);
    axis.axis = static_cast<int>(j);
    map.shape.push_back(in[static_cast<std::size_t>(from)]);
  }
  maps.push_back(std::move(map));
  return {};
}

Status expand_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  FRAZIL_TRY(const Extents target, cx.ints(1));
  const Extents& in = cx.shape(0);
  const std::size_t rank = std::max(in.size(), target.size());
  const std::size_t skip = rank - in.size(), target_skip = rank - target.size();
  ViewMap map;
  for (std::size_t d = 0; d < rank; ++d) {
    const Dim from = d < skip ? Dim(1) : in[d - skip], to = d < target_skip ? Dim(1) : target[d - target_skip];
    if (to.is_const() && to.value() < 0) return cx.error("shape[{}] = {} is negative", d - target_skip, to.value());
    if (d >= target_skip) FRAZIL_CHECK(require_at_least(cx, to, 0, fmt::format("shape[{}]", d - target_skip)));
    FRAZIL_TRY(const Dim out, broadcast_dim(cx, from, to));
    map.shape.push_back(out);
    if (d < skip) continue;
    const Dim step = broadcast_step(cx.scope(), from, out);
    map.axes.push_back({.axis = is_zero(step) ? -1 : static_cast<int>(d), .step = is_zero(step) ? Dim(1) : step});
  }
  maps.push_back(std::move(map));
  return {};
}

Status tile_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  FRAZIL_TRY(const Extents repeats, cx.ints(1, cx.rank(0)));
  const Extents& in = cx.shape(0);
  if (repeats.size() != in.size()) return cx.error("repeats has {} entries for {} axes", repeats.size(), in.size());
  ViewMap map = straight_view(in);
  for (std::size_t d = 0; d < in.size(); ++d) {
    FRAZIL_CHECK(require_at_least(cx, repeats[d], 0, fmt::format("repeats[{}]", d)));
    map.shape[d] = cx.scope().mul(in[d], repeats[d]);
    if (in[d] == Dim(1)) {
      map.axes[d].axis = -1;
    } else if (repeats[d] != Dim(1)) {
      map.axes[d].edge = Edge::wrap;
    }
  }
  maps.push_back(std::move(map));
  return {};
}

}  // namespace frazil::ops
