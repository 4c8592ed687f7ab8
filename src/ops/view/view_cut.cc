// Views that slice, split, join or pad: Slice, Split, Concat, Pad.
#include <algorithm>

#include "ops/core/rules.h"
#include "ops/view/view.h"

namespace frazil::ops {
namespace {

using Extents = std::vector<Dim>;

// ---- Slice ----

/// A position beyond any extent. It encodes "to the end".
constexpr std::int64_t kBeyondExtents = std::int64_t{1} << 60;
bool is_const_below(Dim d, std::int64_t limit) { return d.is_const() && d.value() < limit; }

struct Cut {
  Dim start, extent;
};

/// A calculator of the start and extent of one axis of a slice.
class Cutter {
 public:
  Cutter(Scope& scope, Dim dim) : s_(scope), dim_(dim) {}

  Cut forward(Dim start, Dim end, std::int64_t step) {
    const Dim from = hold(from_front(start), 0, dim_), to = hold(from_front(end), 0, dim_);
    Cut cut{from, forward_extent(start, end, from, to)};
    if (is_const_below(start, 0) && to == dim_) cut.start = s_.sub(dim_, cut.extent);
    cut.extent = ceildiv(s_, cut.extent, step);
    return cut;
  }

  Cut backward(Dim start, Dim end, std::int64_t step) {
    const Dim last = s_.sub(dim_, 1);
    const bool at_last = start.is_const() && (start.value() == -1 || start.value() >= kBeyondExtents);
    const Dim from = at_last ? last : s_.min(s_.max(from_front(start), 0), last);
    const Dim to = s_.min(s_.max(from_front(end), -1), last);
    return {from, s_.max(0, ceildiv(s_, s_.sub(from, to), -step))};
  }

  /// Returns the slice for a `step` whose sign is known only at run time.
  Cut either(Dim start, Dim end, Dim step) {
    const Dim up = s_.min(1, s_.max(0, step)), down = s_.sub(up, 1);
    const Dim from = hold(from_front(start), 0, s_.add(dim_, down)),
              to = hold(from_front(end), down, s_.add(dim_, down));
    return {from, s_.max(0, ceildiv(s_, s_.sub(to, from), step))};
  }

 private:
  Dim hold(Dim d, Dim low, Dim high) { return s_.min(s_.max(d, low), high); }

  /// Resolves a negative position, which is relative to the end.
  Dim from_front(Dim i) {
    if (i.is_const()) {
      if (i.value() >= kBeyondExtents) return dim_;
      return i.value() <= -kBeyondExtents ? Dim(-kBeyondExtents) : i.value() < 0 ? s_.add(dim_, i) : i;
    }
    const Bounds b = s_.bounds(i);
    if (b.min >= 0) return i;
    if (b.max < 0) return s_.add(i, dim_);
    const Dim negative = s_.min(1, s_.max(0, s_.sub(0, i)));
    return s_.add(i, s_.mul(negative, dim_));
  }

  /// Returns max(0, to - from), simplified where possible.
  Dim forward_extent(Dim start, Dim end, Dim from, Dim to) {
    const bool from_back = is_const_below(start, 0) && start.value() > -kBeyondExtents;
    if (from_back && to == dim_) return s_.min(s_.sub(0, start), dim_);
    const bool fixed_start = start.is_const() && start.value() >= 0;
    if (fixed_start && to == dim_) return s_.max(0, s_.sub(dim_, start));
    if (fixed_start && is_const_below(end, 0) && end.value() > -kBeyondExtents)
      return s_.max(0, s_.sub(s_.add(dim_, end), start));
    return s_.max(0, s_.sub(to, from));
  }

  Scope& s_;
  Dim dim_;
};

/// The starts, ends, axes and steps of a Slice. The axes are non-negative.
struct SliceArgs {
  Extents starts, ends, axes, steps;
  bool known = true;  ///< axes and steps are numbers
};

bool all_const(const Extents& dims) {
  return std::ranges::all_of(dims, [](Dim d) { return d.is_const(); });
}

Result<SliceArgs> slice_args(InferCx& cx) {
  SliceArgs a;
  FRAZIL_TRY(a.starts, cx.ints(1));
  const std::size_t n = a.starts.size(), rank = cx.rank(0);
  FRAZIL_TRY(a.ends, cx.ints(2, n));
  if (cx.has(3)) {
    FRAZIL_TRY(a.axes, front_axes(cx, 3, rank));
  } else {
    for (std::size_t i = 0; i < n; ++i) a.axes.emplace_back(static_cast<std::int64_t>(i));
  }
  a.steps.assign(n, 1);
  if (cx.has(4)) {
    FRAZIL_TRY(a.steps, cx.ints(4, n));
  }
  if (a.ends.size() != n || a.axes.size() != n || a.steps.size() != n || n > rank) {
    return cx.error("{} starts, {} ends, {} axes and {} steps for an input with {} axes", n, a.ends.size(),
                    a.axes.size(), a.steps.size(), rank);
  }
  if (std::ranges::find(a.steps, Dim(0)) != a.steps.end()) return cx.error("a step is 0");
  for (std::size_t i = 0; i < n; ++i) {
    const Dim size = cx.scope().max(a.steps[i], cx.scope().sub(0, a.steps[i]));
    FRAZIL_CHECK(require_at_least(cx, size, 1, fmt::format("steps[{}], whose step is 0,", i)));
  }
  a.known = all_const(a.axes) && all_const(a.steps);
  return a;
}

void slice_known(Scope& s, const SliceArgs& a, ViewMap& map) {
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(a.axes[i].value());
    Cutter cutter(s, map.shape[d]);
    const std::int64_t step = std::clamp(a.steps[i].value(), -kBeyondExtents, kBeyondExtents);
    const Cut cut =
        step > 0 ? cutter.forward(a.starts[i], a.ends[i], step) : cutter.backward(a.starts[i], a.ends[i], step);
    map.shape[d] = cut.extent;
    map.axes[d].offset = cut.start;
    map.axes[d].step = step;
  }
}

/// Slices every axis by the sum of the arguments that name it, for axes or steps that are read at run time.
void slice_at_run_time(Scope& s, const SliceArgs& a, ViewMap& map) {
  for (std::size_t d = 0; d < map.shape.size(); ++d) {
    Dim start = 0, end = 0, step = 0, untouched = 1;
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      const Dim named = same_number(s, a.axes[i], static_cast<std::int64_t>(d));
      start = s.add(start, s.mul(named, a.starts[i]));
      end = s.add(end, s.mul(named, a.ends[i]));
      step = s.add(step, s.mul(named, a.steps[i]));
      untouched = s.sub(untouched, named);
    }
    end = s.add(end, s.mul(untouched, map.shape[d]));
    step = s.add(step, untouched);
    const Cut cut = Cutter(s, map.shape[d]).either(start, end, step);
    map.shape[d] = cut.extent;
    map.axes[d].offset = cut.start;
    map.axes[d].step = step;
  }
}

}  // namespace

Status slice_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  FRAZIL_TRY(const SliceArgs a, slice_args(cx));
  ViewMap map = straight_view(cx.shape(0));
  a.known ? slice_known(cx.scope(), a, map) : slice_at_run_time(cx.scope(), a, map);
  maps.push_back(std::move(map));
  return {};
}

// ---- Split ----

namespace {

Result<Extents> given_sizes(InferCx& cx, Dim whole) {
  FRAZIL_TRY(Extents sizes, cx.ints(1, cx.output_count()));
  Dim sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    FRAZIL_CHECK(require_at_least(cx, sizes[i], 0, fmt::format("split[{}]", i)));
    sum = cx.scope().add(sum, sizes[i]);
  }
  FRAZIL_CHECK(cx.require_equal(sum, whole, "sum of split"));
  return sizes;
}

/// Returns `parts` equal sizes. The last ones are smaller if they do not divide the extent.
Extents equal_sizes(Scope& s, Dim whole, std::int64_t parts) {
  const Dim even = s.floordiv(whole, parts);
  if (s.equal(s.mul(even, parts), whole) == Proof::yes) return Extents(static_cast<std::size_t>(parts), even);
  const Dim chunk = ceildiv(s, whole, parts);
  Extents sizes{chunk};
  for (std::int64_t i = 1; i < parts; ++i) {
    const Dim left = s.sub(whole, s.mul(chunk, i));
    sizes.push_back(i == 1 && parts == 2 ? left : s.max(0, s.min(chunk, left)));
  }
  return sizes;
}

}  // namespace

Status split_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  const auto& a = cx.attrs<SplitAttrs>();
  FRAZIL_TRY(const int axis, cx.axis(a.axis, cx.rank(0)));
  const auto d = static_cast<std::size_t>(axis);
  const Dim whole = cx.shape(0)[d];
  const auto outputs = static_cast<std::int64_t>(cx.output_count());
  const std::int64_t parts = a.num_outputs.value_or(outputs);
  if (parts < outputs || parts < 1 || parts > (1 << 16)) return cx.error("{} outputs of {} parts", outputs, parts);
  Extents sizes;
  if (cx.has(1)) {
    FRAZIL_TRY(sizes, given_sizes(cx, whole));
  } else {
    sizes = equal_sizes(cx.scope(), whole, parts);
  }
  if (sizes.size() < cx.output_count()) return cx.error("{} outputs of {} parts", outputs, sizes.size());
  Dim offset = 0;
  for (std::size_t i = 0; i < cx.output_count(); ++i) {
    ViewMap map = straight_view(cx.shape(0));
    map.shape[d] = sizes[i];
    map.axes[d].offset = offset;
    offset = cx.scope().add(offset, sizes[i]);
    maps.push_back(std::move(map));
  }
  return {};
}

// ---- Concat ----

Status concat_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  if (!cx.has(0)) return cx.error("needs at least one input");
  FRAZIL_TRY(const int axis, cx.axis(cx.attrs<ConcatAttrs>().axis, cx.rank(0)));
  Extents shape = cx.shape(0);
  for (std::size_t i = 1; i < cx.input_count(); ++i) {
    if (!cx.has(i)) return cx.error("input {} is missing", i);
    if (cx.rank(i) != shape.size()) return cx.error("{} and {} differ in rank", cx.type_str(0), cx.type_str(i));
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (static_cast<int>(d) == axis) {
        shape[d] = cx.scope().add(shape[d], cx.shape(i)[d]);
      } else {
        FRAZIL_TRY(shape[d], cx.require_equal(shape[d], cx.shape(i)[d], fmt::format("axis {} of input {}", d, i)));
      }
    }
  }
  maps.push_back({.kind = ViewMap::Kind::concat, .shape = std::move(shape), .axes = {}, .axis = axis});
  return {};
}

// ---- Pad ----

namespace {

Result<Edge> edge_of(InferCx& cx) {
  const std::string& mode = cx.attrs<PadAttrs>().mode;
  if (mode == "constant") return Edge::fill;
  if (mode == "reflect") return Edge::reflect;
  if (mode == "edge") return Edge::clamp;
  if (mode == "wrap") return Edge::wrap;
  return cx.error("mode '{}' is not one of constant, reflect, edge, wrap", mode);
}

/// The numbers of positions added to each axis of the input.
struct PadCounts {
  Extents before, after;
};

/// Requires pads in a range in which no sum overflows, in any order.
Status require_modest(InferCx& cx, const Extents& pads) {
  constexpr std::int64_t kMaximum = std::int64_t{1} << 40;
  Scope& s = cx.scope();
  for (std::size_t i = 0; i < pads.size(); ++i) {
    const Dim held = s.max(-kMaximum, s.min(pads[i], kMaximum));
    FRAZIL_CHECK(cx.require_equal(pads[i], held, fmt::format("pads[{}] is outside [{}, {}]", i, -kMaximum, kMaximum)));
  }
  return {};
}

Result<PadCounts> pad_counts(InferCx& cx) {
  const std::size_t rank = cx.rank(0);
  Extents axes;
  if (cx.has(3)) {
    FRAZIL_TRY(axes, front_axes(cx, 3, rank));
  } else {
    for (std::size_t d = 0; d < rank; ++d) axes.emplace_back(static_cast<std::int64_t>(d));
  }
  FRAZIL_TRY(const Extents pads, cx.ints(1, 2 * axes.size()));
  FRAZIL_CHECK(require_modest(cx, pads));
  if (pads.size() != 2 * axes.size()) return cx.error("{} pads for {} axes", pads.size(), axes.size());
  PadCounts counts{Extents(rank, 0), Extents(rank, 0)};
  Scope& s = cx.scope();
  for (std::size_t d = 0; d < rank; ++d) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Dim named = same_number(s, axes[i], static_cast<std::int64_t>(d));
      counts.before[d] = s.add(counts.before[d], s.mul(named, pads[i]));
      counts.after[d] = s.add(counts.after[d], s.mul(named, pads[axes.size() + i]));
    }
  }
  return counts;
}

}  // namespace

namespace {

/// Requires input i to have one element.
Status require_one(InferCx& cx, std::size_t i) {
  const std::string what = fmt::format("element count of input '{}'", cx.node().op->inputs[i].name);
  FRAZIL_TRY(const Dim one, cx.require_equal(product(cx.scope(), cx.shape(i)), 1, what));
  (void)one;
  return {};
}

}  // namespace

Status pad_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  FRAZIL_TRY(const Edge edge, edge_of(cx));
  ViewMap map = straight_view(cx.shape(0));
  FRAZIL_TRY(const PadCounts counts, pad_counts(cx));
  Scope& s = cx.scope();
  for (std::size_t d = 0; d < map.shape.size(); ++d) {
    const Dim before = counts.before[d], after = counts.after[d];
    if (before == Dim(0) && after == Dim(0)) continue;
    if (edge != Edge::fill) {
      const Dim added = s.min(1, s.max(0, s.max(before, after)));
      FRAZIL_CHECK(require_at_least(cx, map.shape[d], added, fmt::format("axis {}, whose elements pads repeat,", d)));
    }
    map.shape[d] = s.add(map.shape[d], s.add(before, after));
    FRAZIL_CHECK(require_at_least(cx, map.shape[d], 0, fmt::format("axis {}, which pads crop,", d)));
    map.axes[d].offset = s.sub(0, before);
    map.axes[d].edge = edge;
  }
  if (edge == Edge::fill && cx.has(2)) {
    FRAZIL_CHECK(require_one(cx, 2));
    map.fill = 2;
  }
  maps.push_back(std::move(map));
  return {};
}

}  // namespace frazil::ops
