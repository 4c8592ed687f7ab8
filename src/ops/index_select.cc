#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/float.h"
#include "ops/index.h"
#include "ops/move.h"
#include "ops/pace_sort.h"

// Operators that select: NonZero, TopK, NonMaxSuppression, Compress, Unique.
namespace frazil::ops {
namespace {

/// At most the element count of input i.
Bounds up_to_count(InferCx& cx, std::size_t i) { return {0, cx.scope().bounds(cx.scope().product(cx.shape(i))).max}; }

template <class T>
bool is_zero_at(const std::byte* p, std::int64_t i) {
  return reinterpret_cast<const T*>(p)[i] == T{};
}

bool (*zero_test(Elem elem))(const std::byte*, std::int64_t) {
  switch (elem) {
    case Elem::string:
      return [](const std::byte* p, std::int64_t i) { return reinterpret_cast<const std::string*>(p)[i].empty(); };
    case Elem::f32: return is_zero_at<float>;
    case Elem::f64: return is_zero_at<double>;
    case Elem::c64: return is_zero_at<std::complex<float>>;
    case Elem::c128: return is_zero_at<std::complex<double>>;
    case Elem::f16:
    case Elem::bf16:
      return [](const std::byte* p, std::int64_t i) {
        return (reinterpret_cast<const std::uint16_t*>(p)[i] & 0x7fff) == 0;
      };
    case Elem::f8e4m3fn:
    case Elem::f8e5m2:
      return [](const std::byte* p, std::int64_t i) { return (std::to_integer<int>(p[i]) & 0x7f) == 0; };
    case Elem::f4e2m1: return [](const std::byte* p, std::int64_t i) { return (std::to_integer<int>(p[i]) & 7) == 0; };
    case Elem::f8e8m0: return [](const std::byte*, std::int64_t) { return false; };
    case Elem::i16:
    case Elem::u16: return is_zero_at<std::uint16_t>;
    case Elem::i32:
    case Elem::u32: return is_zero_at<std::uint32_t>;
    case Elem::i64:
    case Elem::u64: return is_zero_at<std::uint64_t>;
    default: return is_zero_at<std::uint8_t>;
  }
}

}  // namespace

Status non_zero_types(InferCx& cx) {
  const auto axes = static_cast<std::int64_t>(std::max<std::size_t>(cx.rank(0), 1));
  cx.out(0, Type::tensor(Elem::i64, {Dim(axes), cx.data_extent(0, 1, up_to_count(cx, 0))}));
  return {};
}

Status non_zero_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const Sizes scalar{1};
  const std::span<const std::int64_t> sizes = x.rank() == 0 ? std::span<const std::int64_t>(scalar) : x.sizes;
  const auto is_zero = zero_test(x.elem);
  const std::int64_t total = x.count();
  std::int64_t found = 0;
  Pace pace;
  for (std::int64_t i = 0; i < total; ++i) {
    if (pace.stop(1)) return {};
    found += !is_zero(x.data, i);
  }
  const std::array<std::int64_t, 2> shape{static_cast<std::int64_t>(sizes.size()), found};
  FRAZIL_TRY(std::byte * out, call.out(0, shape));
  auto* column = reinterpret_cast<std::int64_t*>(out);
  for (std::int64_t i = 0; i < total && !pace.stop(1); ++i) {
    if (is_zero(x.data, i)) continue;
    std::int64_t rest = i;
    for (std::size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) {
      column[static_cast<std::int64_t>(d) * found] = rest % sizes[d];
    }
    ++column;
  }
  return {};
}

namespace {

template <class T>
auto key(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return static_cast<float>(value);
  else
    return value;
}

/// Ascending; NaN comes behind everything.
template <class T>
bool before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(b) ? !std::isnan(a) : a < b;
  else
    return a < b;
}

/// Calls f with a null pointer of the storage type of a numeric element type.
template <class F>
Status visit_number(Elem elem, F f) {
  switch (elem) {
    case Elem::i8: return f(static_cast<std::int8_t*>(nullptr));
    case Elem::i16: return f(static_cast<std::int16_t*>(nullptr));
    case Elem::i32: return f(static_cast<std::int32_t*>(nullptr));
    case Elem::i64: return f(static_cast<std::int64_t*>(nullptr));
    case Elem::u8: return f(static_cast<std::uint8_t*>(nullptr));
    case Elem::u16: return f(static_cast<std::uint16_t*>(nullptr));
    case Elem::u32: return f(static_cast<std::uint32_t*>(nullptr));
    case Elem::u64: return f(static_cast<std::uint64_t*>(nullptr));
    case Elem::f16: return f(static_cast<Half*>(nullptr));
    case Elem::bf16: return f(static_cast<BFloat16*>(nullptr));
    case Elem::f32: return f(static_cast<float*>(nullptr));
    case Elem::f64: return f(static_cast<double*>(nullptr));
    default: return fail(Code::internal, "no order for {}", name_of(elem));
  }
}

struct TopKJob {
  AxisSplit split;
  std::int64_t k;
  bool largest;
  std::byte* values;      ///< or null
  std::int64_t* indices;  ///< or null
  std::int64_t* order;    ///< scratch, one per element of a row
};

/// False: the run has to stop.
template <class T>
bool top_k_row(const T* row, const TopKJob& job, std::int64_t at) {
  const std::int64_t step = job.split.inner;
  std::iota(job.order, job.order + job.split.extent, 0);
  const auto less = [&](std::int64_t a, std::int64_t b) {
    const auto ka = key(row[a * step]), kb = key(row[b * step]);
    if (before(ka, kb)) return !job.largest;
    return before(kb, ka) ? job.largest : a < b;
  };
  const bool sorted = sort_unless_stopped(
      [&](auto paced) { std::partial_sort(job.order, job.order + job.k, job.order + job.split.extent, paced(less)); });
  if (!sorted) return false;
  for (std::int64_t i = 0; i < job.k; ++i) {
    if (job.values) reinterpret_cast<T*>(job.values)[at + i * step] = row[job.order[i] * step];
    if (job.indices) job.indices[at + i * step] = job.order[i];
  }
  return true;
}

}  // namespace

Status top_k_types(InferCx& cx) {
  FRAZIL_TRY(const int axis, cx.axis(cx.attrs<TopKAttrs>().axis, cx.rank(0)));
  FRAZIL_TRY(const Dim k, cx.int_scalar(1));
  if (k.is_const() && k.value() < 0) return cx.error("input 'K' must not be negative, got {}", k.value());
  Shape shape = cx.shape(0);
  Dim& extent = shape[static_cast<std::size_t>(axis)];
  if (cx.scope().less(extent, k) == Proof::yes) {
    return cx.error("input 'K' is {}, axis {} of 'X' only {}", cx.scope().str(k), axis, cx.scope().str(extent));
  }
  extent = cx.scope().max(k, 0);
  cx.out(0, Type::tensor(cx.elem(0), shape));
  cx.out(1, Type::tensor(Elem::i64, shape));
  return {};
}

Status top_k_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const auto& a = call.attrs<TopKAttrs>();
  const std::size_t axis = from_front(a.axis, x.rank());
  const AxisSplit split(x.sizes, axis);
  const std::int64_t k = call.in(1).integer(0);
  if (k < 0 || k > split.extent) return fail(Code::bad_input, "input 'K': {} is outside [0, {}]", k, split.extent);
  Sizes sizes(x.sizes.begin(), x.sizes.end());
  sizes[axis] = k;
  TopKJob job{split, k, a.largest != 0, nullptr, nullptr, nullptr};
  if (call.wants(0)) {
    FRAZIL_TRY(job.values, call.out(0, sizes));
  }
  if (call.wants(1)) {
    FRAZIL_TRY(std::byte * indices, call.out(1, sizes));
    job.indices = reinterpret_cast<std::int64_t*>(indices);
  }
  if (x.count() == 0) return {};
  FRAZIL_TRY(std::byte * scratch, call.scratch(static_cast<std::size_t>(split.extent) * sizeof(std::int64_t)));
  job.order = reinterpret_cast<std::int64_t*>(scratch);
  return visit_number(x.elem, [&](auto* type) -> Status {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto* data = reinterpret_cast<const T*>(x.data);
    Pace pace;
    for (std::int64_t o = 0; o < split.outer; ++o) {
      for (std::int64_t i = 0; i < split.inner; ++i) {
        if (pace.stop(split.extent)) return {};
        if (!top_k_row(data + o * split.extent * split.inner + i, job, o * k * split.inner + i)) return {};
      }
    }
    return {};
  });
}

namespace {

struct Box {
  float y0, x0, y1, x1;
};

Box box_at(const float* p, bool centred) {
  if (centred) return {p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
  return {std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
}

float area(const Box& b) { return (b.y1 - b.y0) * (b.x1 - b.x0); }

/// Whether intersection over union exceeds the threshold.
bool overlaps(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0), width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (height <= 0 || width <= 0) return false;
  const float both = height * width, either = area(a) + area(b) - both;
  return area(a) > 0 && area(b) > 0 && either > 0 && both / either > threshold;
}

struct NmsLimits {
  std::int64_t most = 0;
  float overlap = 0;
  std::optional<float> score;
};

/// Box numbers kept for one class, best first.
std::vector<std::int64_t> keep_best(std::span<const Box> boxes, const float* scores, const NmsLimits& limits) {
  std::vector<std::int64_t> order, kept;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(boxes.size()); ++i) {
    if (!limits.score || scores[i] > *limits.score) order.push_back(i);
  }
  const auto better = [&](std::int64_t a, std::int64_t b) { return before(scores[b], scores[a]); };
  if (!sort_unless_stopped([&](auto paced) { std::ranges::stable_sort(order, paced(better)); })) return kept;
  Pace pace;
  for (std::int64_t i : order) {
    const auto so_far = static_cast<std::int64_t>(kept.size());
    if (so_far >= limits.most || pace.stop(1 + so_far)) break;
    const bool covered = std::ranges::any_of(kept, [&](std::int64_t j) {
      return overlaps(boxes[static_cast<std::size_t>(i)], boxes[static_cast<std::size_t>(j)], limits.overlap);
    });
    if (!covered) kept.push_back(i);
  }
  return kept;
}

}  // namespace

Status nms_types(InferCx& cx) {
  if (cx.rank(0) != 3 || cx.rank(1) != 3) return cx.error("inputs 'boxes' and 'scores' must have 3 axes");
  FRAZIL_TRY(const Dim four, cx.require_equal(cx.shape(0)[2], 4, "numbers of a box"));
  FRAZIL_TRY(const Dim batch, cx.require_equal(cx.shape(0)[0], cx.shape(1)[0], "batches of 'boxes' and 'scores'"));
  FRAZIL_TRY(const Dim boxes, cx.require_equal(cx.shape(0)[1], cx.shape(1)[2], "boxes of 'boxes' and 'scores'"));
  (void)four, (void)batch, (void)boxes;
  cx.out(0, Type::tensor(Elem::i64, {cx.data_extent(0, 0, up_to_count(cx, 1)), 3}));
  return {};
}

Status nms_run(OpaqueCall& call) {
  const TensorView boxes = call.in(0), scores = call.in(1);
  const bool centred = call.attrs<NmsAttrs>().center_point_box != 0;
  const std::int64_t count = boxes.sizes[1], classes = scores.sizes[1];
  const auto number = [&](std::size_t i) {
    return call.has(i) && call.in(i).count() > 0 ? std::optional(call.in(i).as<float>()[0]) : std::nullopt;
  };
  NmsLimits limits{0, number(3).value_or(0), number(4)};
  if (call.has(2) && call.in(2).count() > 0) limits.most = call.in(2).integer(0);
  std::vector<std::int64_t> rows;
  std::vector<Box> item(static_cast<std::size_t>(count));
  Pace pace;
  for (std::int64_t b = 0; b < boxes.sizes[0]; ++b) {
    for (std::int64_t i = 0; i < count; ++i) {
      item[static_cast<std::size_t>(i)] = box_at(boxes.as<float>().data() + (b * count + i) * 4, centred);
    }
    for (std::int64_t c = 0; c < classes && !pace.stop(count); ++c) {
      const float* of_class = scores.as<float>().data() + (b * classes + c) * count;
      for (std::int64_t i : keep_best(item, of_class, limits)) rows.insert(rows.end(), {b, c, i});
    }
  }
  FRAZIL_TRY(std::byte * out, call.out(0, std::array{static_cast<std::int64_t>(rows.size() / 3), std::int64_t{3}}));
  std::ranges::copy(rows, reinterpret_cast<std::int64_t*>(out));
  return {};
}

namespace {

/// The tensor as items along one axis, or its single elements when there is no axis.
AxisSplit items_of(std::span<const std::int64_t> sizes, std::optional<std::int64_t> axis) {
  if (axis) return {sizes, from_front(*axis, sizes.size())};
  const std::array<std::int64_t, 1> flat{product(sizes)};
  return {flat, 0};
}

/// Output sizes when `count` items remain.
Sizes item_sizes(std::span<const std::int64_t> sizes, std::optional<std::int64_t> axis, std::int64_t count) {
  if (!axis) return {count};
  Sizes out(sizes.begin(), sizes.end());
  out[from_front(*axis, sizes.size())] = count;
  return out;
}

void copy_items(const TensorView& x, const AxisSplit& split, std::span<const std::int64_t> items, std::byte* out) {
  const auto width = static_cast<std::int64_t>(byte_size(x.elem)) * split.inner;
  Pace pace;
  for (std::int64_t o = 0; o < split.outer; ++o) {
    for (std::int64_t i : items) {
      if (pace.stop(1 + split.inner)) return;
      move_elements(x.elem, out, x.data + (o * split.extent + i) * width, split.inner);
      out += width;
    }
  }
}

/// The type of output 0 with a data-dependent number of items; gives that number.
Result<Dim> item_types(InferCx& cx, std::optional<std::int64_t> attr_axis) {
  if (!attr_axis) {
    const Dim count = cx.data_extent(0, 0, up_to_count(cx, 0));
    cx.out(0, Type::tensor(cx.elem(0), {count}));
    return count;
  }
  FRAZIL_TRY(const int axis, cx.axis(*attr_axis, cx.rank(0)));
  Shape shape = cx.shape(0);
  Dim& extent = shape[static_cast<std::size_t>(axis)];
  extent = cx.data_extent(0, axis, {0, cx.scope().bounds(extent).max});
  const Dim count = extent;
  cx.out(0, Type::tensor(cx.elem(0), std::move(shape)));
  return count;
}

}  // namespace

Status compress_types(InferCx& cx) {
  if (cx.rank(1) != 1) return cx.error("input 'condition' must have 1 axis, got {}", cx.type_str(1));
  FRAZIL_TRY(const Dim count, item_types(cx, cx.attrs<CompressAttrs>().axis));
  (void)count;
  return {};
}

Status compress_run(OpaqueCall& call) {
  const TensorView x = call.in(0), condition = call.in(1);
  const auto axis = call.attrs<CompressAttrs>().axis;
  const AxisSplit split = items_of(x.sizes, axis);
  std::vector<std::int64_t> items;
  items.reserve(static_cast<std::size_t>(std::min(condition.count(), split.extent)));
  Pace pace;
  for (std::int64_t i = 0; i < condition.count(); ++i) {
    if (pace.stop(1)) return {};
    if (condition.data[i] == std::byte{0}) continue;
    if (i >= split.extent)
      return fail(Code::bad_input, "input 'condition': true at [{}], outside [0, {}]", i, split.extent - 1);
    items.push_back(i);
  }
  FRAZIL_TRY(std::byte * out, call.out(0, item_sizes(x.sizes, axis, static_cast<std::int64_t>(items.size()))));
  copy_items(x, split, items, out);
  return {};
}

namespace {

template <class T>
int order_of(T a, T b) {
  return before(a, b) ? -1 : before(b, a) ? 1 : 0;
}
template <class T>
int order_at(const std::byte* p, std::int64_t i, std::int64_t j) {
  const auto* v = reinterpret_cast<const T*>(p);
  return order_of(key(v[i]), key(v[j]));
}

/// Order of elements i and j of x.
int compare(const TensorView& x, std::int64_t i, std::int64_t j) {
  const auto small = [&](std::int64_t k) { return small_to_float(x.elem, std::to_integer<std::uint8_t>(x.data[k])); };
  switch (x.elem) {
    case Elem::string:
      return x.as<std::string>()[static_cast<std::size_t>(i)].compare(x.as<std::string>()[static_cast<std::size_t>(j)]);
    case Elem::i16: return order_at<std::int16_t>(x.data, i, j);
    case Elem::i32: return order_at<std::int32_t>(x.data, i, j);
    case Elem::i64: return order_at<std::int64_t>(x.data, i, j);
    case Elem::u16: return order_at<std::uint16_t>(x.data, i, j);
    case Elem::u32: return order_at<std::uint32_t>(x.data, i, j);
    case Elem::u64: return order_at<std::uint64_t>(x.data, i, j);
    case Elem::f16: return order_at<Half>(x.data, i, j);
    case Elem::bf16: return order_at<BFloat16>(x.data, i, j);
    case Elem::f32: return order_at<float>(x.data, i, j);
    case Elem::f64: return order_at<double>(x.data, i, j);
    case Elem::c64: {
      const int real = order_at<float>(x.data, 2 * i, 2 * j);
      return real != 0 ? real : order_at<float>(x.data, 2 * i + 1, 2 * j + 1);
    }
    case Elem::c128: {
      const int real = order_at<double>(x.data, 2 * i, 2 * j);
      return real != 0 ? real : order_at<double>(x.data, 2 * i + 1, 2 * j + 1);
    }
    case Elem::i8:
    case Elem::i4:
    case Elem::i2: return order_at<std::int8_t>(x.data, i, j);
    default: return is_small_float(x.elem) ? order_of(small(i), small(j)) : order_at<std::uint8_t>(x.data, i, j);
  }
}

int compare_items(const TensorView& x, const AxisSplit& s, std::int64_t a, std::int64_t b) {
  for (std::int64_t o = 0; o < s.outer; ++o) {
    for (std::int64_t i = 0; i < s.inner; ++i) {
      const int c = compare(x, (o * s.extent + a) * s.inner + i, (o * s.extent + b) * s.inner + i);
      if (c != 0) return c;
    }
  }
  return 0;
}

struct Groups {
  std::vector<std::int64_t> first, inverse,
      counts;  ///< first occurrence and count of each group; the group of each item
};

/// Nothing when the run has to stop.
std::optional<Groups> group_items(const TensorView& x, const AxisSplit& s, bool sorted) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(s.extent));
  std::iota(order.begin(), order.end(), 0);
  const auto less = [&](std::int64_t a, std::int64_t b) { return compare_items(x, s, a, b) < 0; };
  if (!sort_unless_stopped([&](auto paced) { std::ranges::stable_sort(order, paced(less)); })) return std::nullopt;
  std::vector<std::int64_t> head(order.size());  // of each item: the first one equal to it
  Pace pace;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (pace.stop(4)) return std::nullopt;
    const bool same = i > 0 && compare_items(x, s, order[i - 1], order[i]) == 0;
    head[static_cast<std::size_t>(order[i])] = same ? head[static_cast<std::size_t>(order[i - 1])] : order[i];
  }
  Groups g{{}, std::vector<std::int64_t>(order.size()), {}};
  std::vector<std::int64_t> number(order.size());
  const auto open = [&](std::int64_t item) {
    if (head[static_cast<std::size_t>(item)] != item) return;
    number[static_cast<std::size_t>(item)] = static_cast<std::int64_t>(g.first.size());
    g.first.push_back(item);
  };
  if (!sorted && !sort_unless_stopped([&](auto paced) { std::ranges::sort(order, paced(std::less())); })) {
    return std::nullopt;
  }
  for (std::int64_t item : order) {
    if (pace.stop(4)) return std::nullopt;
    open(item);
  }
  g.counts.resize(g.first.size());
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (pace.stop(4)) return std::nullopt;
    g.inverse[i] = number[static_cast<std::size_t>(head[i])];
    ++g.counts[static_cast<std::size_t>(g.inverse[i])];
  }
  return g;
}

Status put_numbers(OpaqueCall& call, std::size_t output, const std::vector<std::int64_t>& numbers) {
  if (!call.wants(output)) return {};
  FRAZIL_TRY(std::byte * out, call.out(output, std::array{static_cast<std::int64_t>(numbers.size())}));
  std::ranges::copy(numbers, reinterpret_cast<std::int64_t*>(out));
  return {};
}

}  // namespace

Status unique_types(InferCx& cx) {
  const auto attr_axis = cx.attrs<UniqueAttrs>().axis;
  FRAZIL_TRY(const Dim count, item_types(cx, attr_axis));
  cx.out(1, Type::tensor(Elem::i64, {count}));
  cx.out(3, Type::tensor(Elem::i64, {count}));
  const Shape& shape = cx.shape(0);
  cx.out(2, Type::tensor(Elem::i64,
                         {attr_axis ? shape[from_front(*attr_axis, shape.size())] : cx.scope().product(shape)}));
  return {};
}

Status unique_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const auto& a = call.attrs<UniqueAttrs>();
  const AxisSplit split = items_of(x.sizes, a.axis);
  const auto found = group_items(x, split, a.sorted != 0);
  if (!found) return {};
  const Groups& groups = *found;
  if (call.wants(0)) {
    const Sizes sizes = item_sizes(x.sizes, a.axis, static_cast<std::int64_t>(groups.first.size()));
    FRAZIL_TRY(std::byte * out, call.out(0, sizes));
    copy_items(x, split, groups.first, out);
  }
  FRAZIL_CHECK(put_numbers(call, 1, groups.first));
  FRAZIL_CHECK(put_numbers(call, 2, groups.inverse));
  return put_numbers(call, 3, groups.counts);
}

}  // namespace frazil::ops
