#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/limits/execution_limits.h"
#include "base/thread/throttled_sort.h"
#include "base/value/float.h"
#include "kernel/move/index.h"
#include "kernel/select/select.h"
#include "ops/core/move.h"
#include "ops/index/index.h"

// Operators that select elements: NonZero, TopK, NonMaxSuppression, Compress, Unique.
namespace frazil::ops {
namespace {

/// Returns bounds from 0 to the element count of input i.
Bounds up_to_count(InferCx& cx, std::size_t i) { return {0, cx.scope().bounds(product(cx.scope(), cx.shape(i))).max}; }

/// Returns the elements as flags: the bits that make an element non-zero. Returns nullopt if this is not a bit test of
/// up to 8 bytes.
std::optional<kernel::Flags> flags_of(const TensorView& x) {
  const auto width = static_cast<std::int64_t>(byte_size(x.elem));
  switch (x.elem) {
    case Elem::string:
    case Elem::c128:
    case Elem::f8e8m0: return std::nullopt;
    case Elem::f16:
    case Elem::bf16: return kernel::Flags{x.data, width, 0x7fff};
    case Elem::f32: return kernel::Flags{x.data, width, 0x7fffffff};
    case Elem::f64: return kernel::Flags{x.data, width, 0x7fffffffffffffff};
    case Elem::c64: return kernel::Flags{x.data, width, 0x7fffffff7fffffff};
    case Elem::f8e4m3fn:
    case Elem::f8e5m2: return kernel::Flags{x.data, width, 0x7f};
    case Elem::f4e2m1: return kernel::Flags{x.data, width, 7};
    default: return kernel::Flags{x.data, width};
  }
}

bool is_zero_at(const TensorView& x, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  if (x.elem == Elem::string) return x.as<std::string>()[at].empty();
  return x.elem == Elem::c128 && x.as<std::complex<double>>()[at] == std::complex<double>();
}

/// Makes flags of one byte per element, 1 if it is non-zero, for types that flags_of does not support.
Result<kernel::Flags> made_flags(OpaqueCall& call, const TensorView& x) {
  FRAZIL_TRY(std::byte * flags, call.scratch(static_cast<std::size_t>(x.count())));
  PollThrottle throttle;
  for (std::int64_t i = 0; i < x.count() && !throttle.stop(1); ++i)
    flags[i] = static_cast<std::byte>(!is_zero_at(x, i));
  return kernel::Flags{flags};
}

/// Writes the indices of the set flags, one row of `out` per axis.
void put_places(const kernel::Flags& flags, std::span<const std::int64_t> sizes, std::int64_t* out,
                std::int64_t found) {
  const std::size_t last = sizes.size() - 1;
  const std::int64_t length = sizes[last];
  if (last == 0) return kernel::places_set(flags, 0, out, found);
  std::int64_t done = 0;
  PollThrottle throttle;
  for (std::int64_t row = 0; done < found && !throttle.stop(1 + length); ++row) {
    const std::int64_t here = kernel::count_set(flags, row * length, length);
    if (here == 0) continue;
    kernel::places_set(flags, row * length, out + static_cast<std::int64_t>(last) * found + done, here);
    std::int64_t rest = row;
    for (std::size_t d = last; d-- > 0; rest /= sizes[d]) {
      std::fill_n(out + static_cast<std::int64_t>(d) * found + done, here, rest % sizes[d]);
    }
    done += here;
  }
}

}  // namespace

Status non_zero_types(InferCx& cx) {
  const auto axes = static_cast<std::int64_t>(cx.rank(0));
  cx.out(0, Type::tensor(Elem::i64, {Dim(axes), cx.data_extent(0, 1, up_to_count(cx, 0))}));
  return {};
}

Status non_zero_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  auto flags = flags_of(x);
  if (!flags) {
    FRAZIL_TRY(flags, made_flags(call, x));
  }
  const std::int64_t found = kernel::count_set(*flags, 0, x.count());
  if (stop_requested()) return {};
  const std::array<std::int64_t, 2> shape{static_cast<std::int64_t>(x.rank()), found};
  FRAZIL_TRY(std::byte * out, call.out(0, shape));
  if (x.rank() > 0) put_places(*flags, x.sizes, reinterpret_cast<std::int64_t*>(out), found);
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

/// Returns whether a is before b in ascending order, in which NaN is last.
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
  std::byte* values;      ///< may be null
  std::int64_t* indices;  ///< may be null
  std::int64_t* order;    ///< scratch, one per element of a row
  kernel::Rank* ranks;    ///< scratch, one per element of a row, for f32
  float* line;            ///< scratch, one per element of a row, for strided f32
};

/// Writes the indices of the k best elements of any type to `order`. Returns false if the run must stop.
template <class T>
bool order_row(const T* row, const TopKJob& job) {
  const std::int64_t step = job.split.inner;
  std::iota(job.order, job.order + job.split.extent, 0);
  const auto less = [&](std::int64_t a, std::int64_t b) {
    const auto ka = key(row[a * step]), kb = key(row[b * step]);
    if (before(ka, kb)) return !job.largest;
    return before(kb, ka) ? job.largest : a < b;
  };
  return sort_unless_stopped([&](auto throttled) {
    std::partial_sort(job.order, job.order + job.k, job.order + job.split.extent, throttled(less));
  });
}

bool order_row(const float* row, const TopKJob& job) {
  const std::int64_t n = job.split.extent, step = job.split.inner;
  if (n > std::numeric_limits<std::uint32_t>::max()) return order_row<float>(row, job);
  if (step != 1) {
    PollThrottle throttle;
    for (std::int64_t i = 0; i < n && !throttle.stop(1); ++i) job.line[i] = row[i * step];
    row = job.line;
  }
  return kernel::top_k(row, n, job.k, job.largest, job.order, job.ranks);
}

/// Returns false if the run must stop.
template <class T>
bool top_k_row(const T* row, const TopKJob& job, std::int64_t at) {
  if (!order_row(row, job)) return false;
  const std::int64_t step = job.split.inner;
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
  TopKJob job{split, k, a.largest != 0, nullptr, nullptr, nullptr, nullptr, nullptr};
  if (call.wants(0)) {
    FRAZIL_TRY(job.values, call.out(0, sizes));
  }
  if (call.wants(1)) {
    FRAZIL_TRY(std::byte * indices, call.out(1, sizes));
    job.indices = reinterpret_cast<std::int64_t*>(indices);
  }
  if (x.count() == 0) return {};
  const auto words = static_cast<std::size_t>(split.extent) * sizeof(std::int64_t);
  FRAZIL_TRY(std::byte * scratch, call.scratch(x.elem == Elem::f32 ? 3 * words : words));
  job.order = reinterpret_cast<std::int64_t*>(scratch);
  job.ranks = reinterpret_cast<kernel::Rank*>(scratch + words);
  job.line = reinterpret_cast<float*>(scratch + 2 * words);
  return visit_number(x.elem, [&](auto* type) -> Status {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto* data = reinterpret_cast<const T*>(x.data);
    PollThrottle throttle;
    for (std::int64_t o = 0; o < split.outer; ++o) {
      for (std::int64_t i = 0; i < split.inner; ++i) {
        if (throttle.stop(split.extent)) return {};
        if (!top_k_row(data + o * split.extent * split.inner + i, job, o * k * split.inner + i)) return {};
      }
    }
    return {};
  });
}

namespace {

void put_box(const kernel::BoxLanes& to, std::int64_t i, const float* p, bool centred) {
  to.y0[i] = centred ? p[1] - p[3] / 2 : std::min(p[0], p[2]);
  to.x0[i] = centred ? p[0] - p[2] / 2 : std::min(p[1], p[3]);
  to.y1[i] = centred ? p[1] + p[3] / 2 : std::max(p[0], p[2]);
  to.x1[i] = centred ? p[0] + p[2] / 2 : std::max(p[1], p[3]);
  to.area[i] = (to.y1[i] - to.y0[i]) * (to.x1[i] - to.x0[i]);
}

struct NmsLimits {
  std::int64_t most = 0;
  float overlap = 0;
  std::optional<float> score;
};

/// The scratch memory of one item of the batch.
struct NmsWork {
  std::int64_t count;
  kernel::BoxLanes boxes, kept;
  kernel::Rank* ranks;

  static std::size_t bytes(std::int64_t count) {
    return static_cast<std::size_t>(count) * (10 * sizeof(float) + sizeof(kernel::Rank));
  }
  NmsWork(std::int64_t n, std::byte* scratch) : count(n), ranks(reinterpret_cast<kernel::Rank*>(scratch)) {
    auto* at = reinterpret_cast<float*>(ranks + n);
    for (kernel::BoxLanes* lanes : {&boxes, &kept}) {
      for (float** line : {&lanes->y0, &lanes->x0, &lanes->y1, &lanes->x1, &lanes->area}) {
        *line = at;
        at += n;
      }
    }
  }
  void keep(std::int64_t from, std::int64_t to) const {
    kept.y0[to] = boxes.y0[from], kept.x0[to] = boxes.x0[from];
    kept.y1[to] = boxes.y1[from], kept.x1[to] = boxes.x1[from];
    kept.area[to] = boxes.area[from];
  }
};

/// Writes the boxes of one class with sufficient scores to work.ranks. Returns their number.
std::int64_t rank_boxes(const NmsWork& work, const float* scores, const NmsLimits& limits) {
  constexpr auto lowest = std::numeric_limits<std::int32_t>::min(), highest = std::numeric_limits<std::int32_t>::max();
  if (!limits.score) return kernel::ranks_between(scores, work.count, false, lowest, highest, 0, work.ranks);
  if (std::isnan(*limits.score)) return 0;
  const std::int32_t above = kernel::order_key(*limits.score, false) + 1;
  const std::int32_t infinite = kernel::order_key(std::numeric_limits<float>::infinity(), false);
  return kernel::ranks_between(scores, work.count, false, above, infinite, 0, work.ranks);
}

/// Calls keep(box) for each kept box of one class, best first.
template <class F>
void keep_best(const NmsWork& work, const float* scores, const NmsLimits& limits, F keep) {
  if (limits.most <= 0) return;
  std::int64_t left = rank_boxes(work, scores, limits), kept = 0;
  if (!kernel::make_heap(work.ranks, left)) return;
  PollThrottle throttle;
  for (; left > 0 && kept < limits.most && !throttle.stop(16 + kept); --left) {
    std::pop_heap(work.ranks, work.ranks + left);
    const std::int64_t box = kernel::place_of(work.ranks[left - 1]);
    if (kernel::overlaps_any(work.boxes, box, work.kept, kept, limits.overlap)) continue;
    work.keep(box, kept++);
    keep(box);
  }
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
  if (count > std::numeric_limits<std::uint32_t>::max()) {
    return fail(Code::unsupported, "input 'boxes' has {} boxes, more than 2^32 - 1", count);
  }
  FRAZIL_TRY(std::byte * scratch, call.scratch(NmsWork::bytes(count)));
  const NmsWork work(count, scratch);
  PollThrottle throttle;
  for (std::int64_t b = 0; b < boxes.sizes[0]; ++b) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (throttle.stop(8)) return {};
      put_box(work.boxes, i, boxes.as<float>().data() + (b * count + i) * 4, centred);
    }
    for (std::int64_t c = 0; c < classes && !throttle.stop(count); ++c) {
      const float* of_class = scores.as<float>().data() + (b * classes + c) * count;
      keep_best(work, of_class, limits, [&](std::int64_t i) { rows.insert(rows.end(), {b, c, i}); });
    }
  }
  FRAZIL_TRY(std::byte * out, call.out(0, std::array{static_cast<std::int64_t>(rows.size() / 3), std::int64_t{3}}));
  std::ranges::copy(rows, reinterpret_cast<std::int64_t*>(out));
  return {};
}

namespace {

/// Returns the tensor as items along one axis, or as single elements without an axis.
AxisSplit items_of(std::span<const std::int64_t> sizes, std::optional<std::int64_t> axis) {
  if (axis) return {sizes, from_front(*axis, sizes.size())};
  const std::array<std::int64_t, 1> flat{product(sizes)};
  return {flat, 0};
}

/// Returns the output sizes if `count` items remain.
Sizes item_sizes(std::span<const std::int64_t> sizes, std::optional<std::int64_t> axis, std::int64_t count) {
  if (!axis) return {count};
  Sizes out(sizes.begin(), sizes.end());
  out[from_front(*axis, sizes.size())] = count;
  return out;
}

void copy_items(const TensorView& x, const AxisSplit& split, std::span<const std::int64_t> items, std::byte* out) {
  if (items.empty()) return;
  const auto width = static_cast<std::int64_t>(byte_size(x.elem)) * split.inner;
  PollThrottle throttle;
  for (std::int64_t o = 0; o < split.outer; ++o) {
    for (std::int64_t i : items) {
      if (throttle.stop(1 + split.inner)) return;
      move_elements(x.elem, out, x.data + (o * split.extent + i) * width, split.inner);
      out += width;
    }
  }
}

/// Sets the type of output 0, which has a data-dependent number of items. Returns that number.
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

namespace {

/// Copies the `found` items whose flags are set, in each outer part.
void copy_flagged(const TensorView& x, const AxisSplit& split, const kernel::Flags& flags, std::int64_t found,
                  std::byte* out) {
  if (found == 0) return;
  constexpr std::int64_t kAtOnce = 1024;
  const auto width = static_cast<std::int64_t>(byte_size(x.elem)) * split.inner;
  std::int64_t places[kAtOnce];
  for (std::int64_t o = 0; o < split.outer; ++o) {
    const std::byte* const from = x.data + o * split.extent * width;
    for (std::int64_t done = 0, next = 0; done < found;) {
      const std::int64_t count = std::min(kAtOnce, found - done);
      kernel::places_set(flags, next, places, count);
      if (stop_requested()) return;
      for (std::int64_t i = 0; i < count; ++i) places[i] += next;
      next = places[count - 1] + 1;
      done += count;
      if (x.elem != Elem::string) {
        kernel::gather(out, from, 1, split.extent, width, places, count);
      } else {
        for (std::int64_t i = 0; i < count; ++i) {
          move_elements(x.elem, out + i * width, from + places[i] * width, split.inner);
        }
      }
      out += count * width;
    }
  }
}

}  // namespace

Status compress_run(OpaqueCall& call) {
  const TensorView x = call.in(0), condition = call.in(1);
  const auto axis = call.attrs<CompressAttrs>().axis;
  const AxisSplit split = items_of(x.sizes, axis);
  const kernel::Flags flags{condition.data};
  if (condition.count() > split.extent && kernel::count_set(flags, split.extent, condition.count() - split.extent)) {
    std::int64_t first = 0;
    kernel::places_set(flags, split.extent, &first, 1);
    return fail(Code::bad_input, "input 'condition': true at [{}], outside [0, {}]", split.extent + first,
                split.extent - 1);
  }
  const std::int64_t found = kernel::count_set(flags, 0, std::min(condition.count(), split.extent));
  FRAZIL_TRY(std::byte * out, call.out(0, item_sizes(x.sizes, axis, found)));
  if (!stop_requested()) copy_flagged(x, split, flags, found, out);
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

/// Compares elements i and j of x.
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
      counts;  ///< first occurrence of each group; group of each item; number of items of each group
};

constexpr std::size_t kGroupBytes = 6 * sizeof(std::int64_t);  ///< upper bound of the memory of group_items() per item

/// Returns nullopt if the run must stop.
std::optional<Groups> group_items(const TensorView& x, const AxisSplit& s, bool sorted) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(s.extent));
  std::iota(order.begin(), order.end(), 0);
  const auto less = [&](std::int64_t a, std::int64_t b) { return compare_items(x, s, a, b) < 0; };
  if (!sort_unless_stopped([&](auto throttled) { std::ranges::stable_sort(order, throttled(less)); }))
    return std::nullopt;
  std::vector<std::int64_t> head(order.size());  // for each item, the first item equal to it
  PollThrottle throttle;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (throttle.stop(4)) return std::nullopt;
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
  if (!sorted && !sort_unless_stopped([&](auto throttled) { std::ranges::sort(order, throttled(std::less())); })) {
    return std::nullopt;
  }
  for (std::int64_t item : order) {
    if (throttle.stop(4)) return std::nullopt;
    open(item);
  }
  g.counts.resize(g.first.size());
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (throttle.stop(4)) return std::nullopt;
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
                         {attr_axis ? shape[from_front(*attr_axis, shape.size())] : product(cx.scope(), shape)}));
  return {};
}

Status unique_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const auto& a = call.attrs<UniqueAttrs>();
  const AxisSplit split = items_of(x.sizes, a.axis);
  FRAZIL_TRY(const MemoryCharge room, MemoryCharge::make(kGroupBytes * static_cast<std::size_t>(split.extent)));
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
