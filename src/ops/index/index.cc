#include "ops/index/index.h"

#include <numeric>

#include "kernel/move/index.h"
#include "ops/core/compose.h"
#include "ops/core/move.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/view/view.h"
#include "tensor/strided.h"

namespace frazil::ops {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers count_from(std::int64_t first, std::int64_t count) {
  Numbers numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

kernel::Indices indices_of(const TensorView& view) { return {view.data, view.elem}; }

/// Returns the error for the index at position `flat`, which is outside its axis.
std::unexpected<Fault> bad_index(const TensorView& indices, std::int64_t flat, std::int64_t extent) {
  return fail(Code::bad_input, "input 'indices': index {} at {} is outside [{}, {}]", indices.integer(flat),
              index_str(indices.sizes, flat), -extent, extent - 1);
}

/// Runs `gather(dst, src, element bytes)`. For strings, it gathers element numbers and then copies the strings.
template <class F>
std::int64_t gather_any(const TensorView& data, std::byte* out, std::int64_t out_count, F gather) {
  if (data.elem != Elem::string) {
    return gather(static_cast<void*>(out), static_cast<const void*>(data.data),
                  static_cast<std::int64_t>(byte_size(data.elem)));
  }
  const Numbers from = count_from(0, data.count());
  Numbers picked(static_cast<std::size_t>(out_count));
  const std::int64_t bad = gather(static_cast<void*>(picked.data()), static_cast<const void*>(from.data()), 8);
  if (bad >= 0 || stop_requested()) return bad;
  const auto strings = data.as<std::string>();
  auto* to = reinterpret_cast<std::string*>(out);
  PollThrottle throttle;
  for (std::int64_t n : picked) {
    if (throttle.stop(16)) break;
    assign_text(*to++, strings[static_cast<std::size_t>(n)]);
  }
  return -1;
}

/// Runs `scatter(elem, data, updates)` on a copy of the data. For strings, it scatters element numbers.
template <class F>
std::int64_t scatter_any(const TensorView& data, const TensorView& updates, std::byte* out, F scatter) {
  const std::int64_t count = data.count();
  move_elements(data.elem, out, data.data, count);
  if (data.elem != Elem::string) {
    return scatter(data.elem, static_cast<void*>(out), static_cast<const void*>(updates.data));
  }
  Numbers numbers = count_from(0, count);
  const Numbers fresh = count_from(count, updates.count());
  const std::int64_t bad =
      scatter(Elem::i64, static_cast<void*>(numbers.data()), static_cast<const void*>(fresh.data()));
  if (bad >= 0 || stop_requested()) return bad;
  const auto strings = updates.as<std::string>();
  auto* to = reinterpret_cast<std::string*>(out);
  PollThrottle throttle;
  for (std::size_t i = 0; i < numbers.size() && !throttle.stop(16); ++i) {
    if (numbers[i] >= count) assign_text(to[i], strings[static_cast<std::size_t>(numbers[i] - count)]);
  }
  return -1;
}

std::optional<kernel::Scatter> reduction_of(std::string_view name) {
  using kernel::Scatter;
  constexpr std::pair<std::string_view, Scatter> known[] = {{"none", Scatter::none},
                                                            {"add", Scatter::add},
                                                            {"mul", Scatter::mul},
                                                            {"max", Scatter::max},
                                                            {"min", Scatter::min}};
  for (const auto& [n, op] : known) {
    if (n == name) return op;
  }
  return std::nullopt;
}

Status check_reduction(InferCx& cx, const std::string& name) {
  const auto op = reduction_of(name);
  if (!op) return cx.error("reduction '{}' is not one of none, add, mul, max, min", name);
  if (*op == kernel::Scatter::none || kernel::scatter_supports(*op, cx.elem(0))) return {};
  return cx.unsupported("reduction '{}' of {} is not available", name, name_of(cx.elem(0)));
}

Status check_same_rank(InferCx& cx) {
  if (cx.rank(0) == cx.rank(1) && cx.rank(0) > 0) return {};
  return cx.error("inputs 'data' and 'indices' must have the same number of axes, at least 1, got {} and {}",
                  cx.rank(0), cx.rank(1));
}

/// Requires that the indices are not longer than the data along any other axis than `axis`. They may be shorter.
Status check_off_axis(const TensorView& data, const TensorView& indices, std::size_t axis) {
  for (std::size_t d = 0; d < data.rank(); ++d) {
    if (d != axis && indices.sizes[d] > data.sizes[d]) {
      return fail(Code::bad_input, "input 'indices' is {} along axis {}, input 'data' only {}", indices.sizes[d], d,
                  data.sizes[d]);
    }
  }
  return {};
}

/// Returns the length of the index tuples: the last extent of input 'indices'.
Result<std::size_t> tuple_length(InferCx& cx, std::size_t batch) {
  if (cx.rank(1) < 1 || cx.rank(0) < 1) return cx.error("inputs 'data' and 'indices' need at least 1 axis");
  FRAZIL_TRY(const std::int64_t k, cx.assumed(cx.shape(1).back(), 1, "the last extent of input 'indices'"));
  const auto length = static_cast<std::size_t>(k);
  if (batch + length > cx.rank(0)) {
    return cx.error("index tuples of {} do not fit input 'data' {} after {} batch axes", length, cx.type_str(0), batch);
  }
  return length;
}

}  // namespace

Status gather_types(InferCx& cx) {
  FRAZIL_TRY(const int axis, cx.axis(cx.attrs<GatherAttrs>().axis, cx.rank(0)));
  const Shape &data = cx.shape(0), &indices = cx.shape(1);
  Shape shape(data.begin(), data.begin() + axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), data.begin() + axis + 1, data.end());
  cx.out(0, Type::tensor(cx.elem(0), std::move(shape)));
  const auto *from = cx.known_value(0), *at = cx.known_value(1);
  if (cx.rank(0) != 1 || !from || !at) return {};
  const auto count = static_cast<std::int64_t>(from->size());
  std::vector<Dim> known;
  for (Dim d : *at) {
    if (!d.is_const() || d.value() < -count || d.value() >= count) return {};
    known.push_back((*from)[from_front(d.value(), from->size())]);
  }
  cx.out_known_value(0, std::move(known));
  return {};
}

Status gather_run(OpaqueCall& call) {
  const TensorView data = call.in(0), indices = call.in(1);
  const std::size_t axis = from_front(call.attrs<GatherAttrs>().axis, data.rank());
  const AxisSplit split(data.sizes, axis);
  Sizes sizes(data.sizes.begin(), data.sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  sizes.insert(sizes.end(), indices.sizes.begin(), indices.sizes.end());
  sizes.insert(sizes.end(), data.sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.sizes.end());
  FRAZIL_TRY(std::byte * out, call.out(0, sizes));
  const std::int64_t bad = gather_any(data, out, product(sizes), [&](void* dst, const void* src, std::int64_t width) {
    return kernel::gather(dst, src, split.outer, split.extent, split.inner * width, indices_of(indices),
                          indices.count());
  });
  return bad < 0 ? Status{} : bad_index(indices, bad, split.extent);
}

Status gather_elements_types(InferCx& cx) {
  FRAZIL_CHECK(check_same_rank(cx));
  FRAZIL_TRY(const int axis, cx.axis(cx.attrs<GatherAttrs>().axis, cx.rank(0)));
  (void)axis;
  cx.out(0, Type::tensor(cx.elem(0), cx.shape(1)));
  return {};
}

Status gather_elements_run(OpaqueCall& call) {
  const TensorView data = call.in(0), indices = call.in(1);
  const std::size_t axis = from_front(call.attrs<GatherAttrs>().axis, data.rank());
  FRAZIL_CHECK(check_off_axis(data, indices, axis));
  FRAZIL_TRY(std::byte * out, call.out(0, indices.sizes));
  const auto gather = [&](void* dst, const void* src, std::int64_t width) {
    return kernel::gather_elements(dst, src, data.sizes, indices_of(indices), indices.sizes,
                                   static_cast<std::int64_t>(axis), width);
  };
  const std::int64_t bad = gather_any(data, out, indices.count(), gather);
  return bad < 0 ? Status{} : bad_index(indices, bad, data.sizes[axis]);
}

Status gather_nd_types(InferCx& cx) {
  const std::int64_t batch_dims = cx.attrs<GatherNdAttrs>().batch_dims;
  const auto batch = static_cast<std::size_t>(batch_dims);
  if (batch_dims < 0 || batch >= cx.rank(1))
    return cx.error("batch_dims {} does not fit {}", batch_dims, cx.type_str(1));
  FRAZIL_TRY(const std::size_t length, tuple_length(cx, batch));
  const Shape data = cx.shape(0), indices = cx.shape(1);
  Shape shape(indices.begin(), indices.end() - 1);
  for (std::size_t i = 0; i < batch; ++i) {
    FRAZIL_TRY(shape[i], cx.require_equal(data[i], indices[i], "batch extents of 'data' and 'indices'"));
  }
  shape.insert(shape.end(), data.begin() + static_cast<std::ptrdiff_t>(batch + length), data.end());
  cx.out(0, Type::tensor(cx.elem(0), std::move(shape)));
  return {};
}

Status gather_nd_run(OpaqueCall& call) {
  const TensorView data = call.in(0), indices = call.in(1);
  const auto batch = static_cast<std::size_t>(call.attrs<GatherNdAttrs>().batch_dims);
  const auto length = static_cast<std::size_t>(indices.sizes.back());
  const auto tuple = data.sizes.subspan(batch, length), rest = data.sizes.subspan(batch + length);
  Sizes sizes(indices.sizes.begin(), indices.sizes.end() - 1);
  sizes.insert(sizes.end(), rest.begin(), rest.end());
  FRAZIL_TRY(std::byte * out, call.out(0, sizes));
  const std::int64_t batches = product(data.sizes.first(batch));
  const std::int64_t count = product(indices.sizes.subspan(batch, indices.rank() - batch - 1));
  const std::int64_t bad = gather_any(data, out, product(sizes), [&](void* dst, const void* src, std::int64_t width) {
    return kernel::gather_nd(dst, src, batches, tuple, product(rest) * width, indices_of(indices), count);
  });
  return bad < 0 ? Status{} : bad_index(indices, bad, tuple[static_cast<std::size_t>(bad) % length]);
}

Status scatter_elements_types(InferCx& cx) {
  const auto& a = cx.attrs<ScatterElementsAttrs>();
  FRAZIL_CHECK(check_same_rank(cx));
  FRAZIL_CHECK(check_reduction(cx, a.reduction));
  FRAZIL_TRY(const int axis, cx.axis(a.axis, cx.rank(0)));
  (void)axis;
  if (cx.rank(2) != cx.rank(1))
    return cx.error("input 'updates' must have the shape of 'indices', got {}", cx.type_str(2));
  for (std::size_t d = 0; d < cx.rank(1); ++d) {
    FRAZIL_TRY(const Dim same, cx.require_equal(cx.shape(1)[d], cx.shape(2)[d], "extents of 'indices' and 'updates'"));
    (void)same;
  }
  cx.out(0, Type::tensor(cx.elem(0), cx.shape(0)));
  return {};
}

Status scatter_elements_run(OpaqueCall& call) {
  const TensorView data = call.in(0), indices = call.in(1), updates = call.in(2);
  const auto& a = call.attrs<ScatterElementsAttrs>();
  const std::size_t axis = from_front(a.axis, data.rank());
  FRAZIL_CHECK(check_off_axis(data, indices, axis));
  FRAZIL_TRY(std::byte * out, call.out(0, data.sizes));
  const auto scatter = [&](Elem elem, void* to, const void* from) {
    return kernel::scatter_elements(*reduction_of(a.reduction), elem, to, data.sizes, indices_of(indices), from,
                                    indices.sizes, static_cast<std::int64_t>(axis));
  };
  const std::int64_t bad = scatter_any(data, updates, out, scatter);
  return bad < 0 ? Status{} : bad_index(indices, bad, data.sizes[axis]);
}

namespace {

/// Returns the length of the index tuples, which follows from the ranks.
Result<std::size_t> scattered_length(InferCx& cx) {
  const bool given = cx.rank(1) > 0 && cx.shape(1).back().is_const();
  const auto follows = static_cast<std::int64_t>(cx.rank(0) + cx.rank(1)) - 1 - static_cast<std::int64_t>(cx.rank(2));
  if (given || cx.rank(0) < 1 || cx.rank(1) < 1 || follows < 0 || follows > static_cast<std::int64_t>(cx.rank(0))) {
    return tuple_length(cx, 0);
  }
  FRAZIL_CHECK(cx.require_equal(cx.shape(1).back(), follows, "the last extent of input 'indices'"));
  return static_cast<std::size_t>(follows);
}

}  // namespace

Status scatter_nd_types(InferCx& cx) {
  FRAZIL_CHECK(check_reduction(cx, cx.attrs<ScatterNdAttrs>().reduction));
  FRAZIL_TRY(const std::size_t length, scattered_length(cx));
  const Shape data = cx.shape(0), indices = cx.shape(1);
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), data.begin() + static_cast<std::ptrdiff_t>(length), data.end());
  if (cx.rank(2) != expected.size()) {
    return cx.error("input 'updates' must have {} axes, got {}", expected.size(), cx.type_str(2));
  }
  for (std::size_t d = 0; d < expected.size(); ++d) {
    FRAZIL_TRY(const Dim same, cx.require_equal(expected[d], cx.shape(2)[d], "extents of 'updates'"));
    (void)same;
  }
  cx.out(0, Type::tensor(cx.elem(0), data));
  return {};
}

Status scatter_nd_run(OpaqueCall& call) {
  const TensorView data = call.in(0), indices = call.in(1), updates = call.in(2);
  const auto length = static_cast<std::size_t>(indices.sizes.back());
  const auto tuple = data.sizes.first(length);
  FRAZIL_TRY(std::byte * out, call.out(0, data.sizes));
  const std::int64_t inner = product(data.sizes.subspan(length));
  const std::int64_t count = product(indices.sizes.first(indices.rank() - 1));
  const auto op = *reduction_of(call.attrs<ScatterNdAttrs>().reduction);
  const std::int64_t bad = scatter_any(data, updates, out, [&](Elem elem, void* to, const void* from) {
    return kernel::scatter_nd(op, elem, to, tuple, inner, indices_of(indices), count, from);
  });
  return bad < 0 ? Status{} : bad_index(indices, bad, tuple[static_cast<std::size_t>(bad) % length]);
}

Status tensor_scatter_types(InferCx& cx) {
  const auto& a = cx.attrs<TensorScatterAttrs>();
  if (a.mode != "linear" && a.mode != "circular") return cx.error("mode '{}' is neither linear nor circular", a.mode);
  FRAZIL_TRY(const int axis, cx.axis(a.axis, cx.rank(0)));
  if (axis == 0) return cx.error("axis must not be the batch axis 0");
  if (cx.rank(1) != cx.rank(0)) return cx.error("input 'update' must have {} axes, got {}", cx.rank(0), cx.type_str(1));
  for (std::size_t d = 0; d < cx.rank(0); ++d) {
    if (static_cast<int>(d) == axis) continue;
    FRAZIL_TRY(const Dim same,
               cx.require_equal(cx.shape(0)[d], cx.shape(1)[d], "extents of 'past_cache' and 'update'"));
    (void)same;
  }
  if (cx.has(2)) {
    if (cx.rank(2) != 1) return cx.error("input 'write_indices' must have 1 axis, got {}", cx.type_str(2));
    FRAZIL_TRY(const Dim same, cx.require_equal(cx.shape(0)[0], cx.shape(2)[0], "extent of 'write_indices'"));
    (void)same;
  }
  cx.out(0, Type::tensor(cx.elem(0), cx.shape(0)));
  return {};
}

Status tensor_scatter_run(OpaqueCall& call) {
  const TensorView cache = call.in(0), update = call.in(1);
  const auto& a = call.attrs<TensorScatterAttrs>();
  const std::size_t axis = from_front(a.axis, cache.rank());
  const AxisSplit to(cache.sizes, axis);
  const std::int64_t entries = update.sizes[axis];
  const bool circular = a.mode == "circular";
  const auto start_of = [&](std::int64_t item) { return call.has(2) ? call.in(2).integer(item) : 0; };
  for (std::int64_t item = 0; item < (call.has(2) ? cache.sizes[0] : 1); ++item) {
    const std::int64_t start = start_of(item), last = circular ? Dim::kMax : to.extent - entries;
    if (start >= 0 && start <= last && entries <= to.extent) continue;
    return fail(Code::bad_input, "input 'write_indices': {} new entries at {} do not fit a cache of {}", entries, start,
                to.extent);
  }
  FRAZIL_TRY(std::byte * out, call.out(0, cache.sizes));
  move_elements(cache.elem, out, cache.data, cache.count());
  if (update.count() == 0) return {};
  const std::int64_t rows_per_item = to.outer / cache.sizes[0];
  const auto width = static_cast<std::int64_t>(byte_size(cache.elem)) * to.inner;
  PollThrottle throttle;
  for (std::int64_t o = 0; o < to.outer; ++o) {
    const std::int64_t start = start_of(o / rows_per_item);
    for (std::int64_t t = 0; t < entries; ++t) {
      if (throttle.stop(1 + to.inner)) return {};
      const std::int64_t at = circular ? (start + t) % to.extent : start + t;
      move_elements(cache.elem, out + (o * to.extent + at) * width, update.data + (o * entries + t) * width, to.inner);
    }
  }
  return {};
}

Status reverse_sequence_types(InferCx& cx) {
  const auto& a = cx.attrs<ReverseSequenceAttrs>();
  if (cx.rank(0) < 2 || cx.rank(1) != 1) return cx.error("expected input with 2 axes or more and 1-D sequence_lens");
  if ((a.batch_axis != 0 && a.batch_axis != 1) || a.time_axis != 1 - a.batch_axis) {
    return cx.error("batch_axis and time_axis must be 0 and 1 in either order, got {} and {}", a.batch_axis,
                    a.time_axis);
  }
  const Dim batch = cx.shape(0)[static_cast<std::size_t>(a.batch_axis)];
  FRAZIL_TRY(const Dim same, cx.require_equal(batch, cx.shape(1)[0], "extent of 'sequence_lens'"));
  (void)same;
  cx.out(0, Type::tensor(cx.elem(0), cx.shape(0)));
  return {};
}

Status reverse_sequence_run(OpaqueCall& call) {
  const TensorView x = call.in(0), lengths = call.in(1);
  const bool time_first = call.attrs<ReverseSequenceAttrs>().time_axis == 0;
  const std::int64_t steps = x.sizes[time_first ? 0 : 1], batch = x.sizes[time_first ? 1 : 0];
  const std::int64_t inner = product(x.sizes.subspan(2));
  const auto width = static_cast<std::int64_t>(byte_size(x.elem)) * inner;
  const auto row = [&](std::int64_t b, std::int64_t t) { return (time_first ? t * batch + b : b * steps + t) * width; };
  FRAZIL_TRY(std::byte * out, call.out(0, x.sizes));
  PollThrottle throttle;
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t length = lengths.integer(b);
    if (length < 0 || length > steps) {
      return fail(Code::bad_input, "input 'sequence_lens': {} at [{}] is outside [0, {}]", length, b, steps);
    }
    for (std::int64_t t = 0; t < steps && x.count() > 0; ++t) {
      if (throttle.stop(1 + inner)) return {};
      move_elements(x.elem, out + row(b, t), x.data + row(b, t < length ? length - 1 - t : t), inner);
    }
  }
  return {};
}

namespace {

/// Returns the depth as an i64 scalar. A constant remains a constant, so that the extent is known.
Expr one_hot_depth(CompositeCx& cx) {
  if (const Constant* c = cx.builder().graph().constant(cx.in(1).value); c && c->tensor.count() == 1) {
    return cx.builder().scalar(c->tensor.integer_at(0));
  }
  return Reshape({as_elem(cx.in(1), Elem::i64), cx.ints({})});
}

}  // namespace

void one_hot_body(CompositeCx& cx) {
  const auto rank = static_cast<std::int64_t>(cx.rank(0));
  std::int64_t axis = cx.attrs<OneHotAttrs>().axis;
  if (axis < -rank - 1 || axis > rank) return cx.error("axis {} is outside [{}, {}]", axis, -rank - 1, rank);
  if (axis < 0) axis += rank + 1;
  const Expr depth = one_hot_depth(cx);
  Expr index = as_elem(cx.in(0), Elem::i64);
  index = Where(Less(index, cx.number(Elem::i64, 0)), Add(index, depth), index);
  const Expr place = append_unit_axes(cx, iota(cx, depth), static_cast<std::size_t>(rank - axis));
  const Expr hit = Equal(Unsqueeze({index, cx.ints({axis})}), place);
  cx.out(0, Where(hit, pick(cx, cx.in(2), 0, 1), pick(cx, cx.in(2), 0, 0)));
}

}  // namespace frazil::ops
