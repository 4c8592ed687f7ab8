#include "kernel/move/index.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "base/thread/poll_throttle.h"
#include "base/value/extents.h"
#include "base/value/float.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

int64_t wrapped(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }

/// Returns the position of the first index out of range, or -1 if there is none or the run has to stop. Callers check
/// for a stop before they use the indices.
template <class I>
int64_t first_outside(const I* indices, int64_t count, int64_t extent) {
  constexpr int64_t kChunk = 256;
  PollThrottle throttle;
  for (int64_t begin = 0; begin < count && !throttle.stop(kChunk); begin += kChunk) {
    const int64_t end = std::min(count, begin + kChunk);
    bool bad = false;
    for (int64_t i = begin; i < end; ++i) bad |= (indices[i] < -extent) | (indices[i] >= extent);
    if (!bad) continue;
    for (int64_t i = begin; i < end; ++i)
      if (indices[i] < -extent || indices[i] >= extent) return i;
  }
  return -1;
}

int64_t first_outside(Indices indices, int64_t count, int64_t extent) {
  if (indices.wide) return first_outside(static_cast<const int64_t*>(indices.data), count, extent);
  return first_outside(static_cast<const std::int32_t*>(indices.data), count, extent);
}

/// Does the same for indices[count, dims.size()], one tuple per row.
int64_t first_outside_tuple(Indices indices, int64_t count, std::span<const int64_t> dims) {
  if (dims.empty()) return -1;
  int64_t at = 0;
  PollThrottle throttle;
  for (int64_t i = 0; i < count && !throttle.stop(static_cast<int64_t>(dims.size())); ++i)
    for (const int64_t extent : dims) {
      if (indices[at] < -extent || indices[at] >= extent) return at;
      ++at;
    }
  return -1;
}

int64_t tuple_offset(Indices indices, int64_t tuple, std::span<const int64_t> dims) {
  int64_t offset = 0, at = tuple * static_cast<int64_t>(dims.size());
  for (const int64_t extent : dims) offset = offset * extent + wrapped(indices[at++], extent);
  return offset;
}

template <std::size_t kBytes>
struct Fixed {
  std::byte bytes[kBytes];
};

/// Calls f.operator()<kBytes>() with 1, 2, 4, 8 or 16, or 0 for any other size.
template <class F>
void by_size(int64_t bytes, F f) {
  switch (bytes) {
    case 1: return f.template operator()<1>();
    case 2: return f.template operator()<2>();
    case 4: return f.template operator()<4>();
    case 8: return f.template operator()<8>();
    case 16: return f.template operator()<16>();
    default: return f.template operator()<0>();
  }
}

template <std::size_t kBytes>
void move(std::byte* dst, const std::byte* src, int64_t bytes) {
  if (kBytes != 0 || bytes != 0) std::memcpy(dst, src, kBytes != 0 ? kBytes : static_cast<std::size_t>(bytes));
}

template <std::size_t kBytes, class I>
void gather_rows(std::byte* dst, const std::byte* src, const I* indices, int64_t count, int64_t extent, int64_t bytes,
                 PollThrottle& throttle) {
  const int64_t step = kBytes != 0 ? static_cast<int64_t>(kBytes) : bytes;
  for (int64_t i = 0; i < count && !throttle.stop(1 + bytes / 16); ++i) {
    move<kBytes>(dst + i * step, src + wrapped(indices[i], extent) * step, bytes);
  }
}

/// The elements of data that indices select: by an index along the axis, by position along the others.
struct Selection {
  std::span<const int64_t> data_dims, index_dims;
  std::size_t axis;
  Indices indices;

  int64_t extent() const { return data_dims[axis]; }

  int64_t first_bad() const {
    const int64_t count = product(index_dims);
    if (count == 0) return -1;
    int64_t bad = first_outside(indices, count, extent()), step = count;
    for (std::size_t d = 0; d < index_dims.size(); ++d) {
      step /= index_dims[d];
      if (d == axis || index_dims[d] <= data_dims[d]) continue;
      const int64_t position = data_dims[d] * step;
      if (bad < 0 || position < bad) bad = position;
    }
    return bad;
  }

  bool whole_off_axis() const {
    for (std::size_t d = 0; d < index_dims.size(); ++d)
      if (d != axis && index_dims[d] != data_dims[d]) return false;
    return true;
  }

  int64_t offset_of(int64_t flat) const {
    int64_t offset = 0, step = 1, rest = flat;
    for (std::size_t d = index_dims.size(); d-- > 0;) {
      const int64_t i = rest % index_dims[d];
      rest /= index_dims[d];
      offset += step * (d == axis ? wrapped(indices[flat], extent()) : i);
      step *= data_dims[d];
    }
    return offset;
  }

  /// Calls f(offset in data, flat position in indices), in row-major order.
  template <class F>
  void for_each(F f) const {
    const int64_t count = product(index_dims);
    if (count == 0) return;
    PollThrottle throttle;
    if (!whole_off_axis()) {
      for (int64_t i = 0; i < count && !throttle.stop(4); ++i) f(offset_of(i), i);
      return;
    }
    const int64_t outer = product(index_dims.first(axis)), inner = product(index_dims.subspan(axis + 1));
    int64_t flat = 0;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t a = 0; a < index_dims[axis]; ++a)
        for (int64_t i = 0; i < inner; ++i, ++flat) {
          if (throttle.stop(1)) return;
          f((o * extent() + wrapped(indices[flat], extent())) * inner + i, flat);
        }
  }
};

template <Scatter kOp, class T>
T combine(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return kOp == Scatter::add || kOp == Scatter::max ? a || b : a && b;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    const auto x = static_cast<std::uint64_t>(static_cast<U>(a)), y = static_cast<std::uint64_t>(static_cast<U>(b));
    if constexpr (kOp == Scatter::add) return static_cast<T>(x + y);
    if constexpr (kOp == Scatter::mul) return static_cast<T>(x * y);
    return kOp == Scatter::max ? std::max(a, b) : std::min(a, b);
  } else {
    if constexpr (kOp == Scatter::add) return a + b;
    if constexpr (kOp == Scatter::mul) return a * b;
    const bool take = kOp == Scatter::max ? b > a : b < a;
    return take || b != b ? b : a;
  }
}

template <class T>
T read(const std::byte* p) {
  if constexpr (std::is_same_v<T, bool>) {
    return *p != std::byte{0};
  } else {
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
}

/// A function that computes data[i] op= updates[i] for i < count.
using Apply = void (*)(std::byte* data, const std::byte* updates, int64_t count);

template <Scatter kOp, class T>
void apply(std::byte* data, const std::byte* updates, int64_t count) {
  constexpr int64_t e = sizeof(T);
  for (int64_t i = 0; i < count; ++i) {
    const T a = read<T>(data + i * e), b = read<T>(updates + i * e);
    T result;
    if constexpr (std::is_arithmetic_v<T>) {
      result = combine<kOp>(a, b);
    } else {
      result = T(combine<kOp>(static_cast<float>(a), static_cast<float>(b)));
    }
    std::memcpy(data + i * e, &result, sizeof result);
  }
}

template <Scatter kOp>
Apply find_apply(Elem elem) {
  switch (elem) {
    case Elem::boolean: return apply<kOp, bool>;
    case Elem::i4:
    case Elem::i2:
    case Elem::u4:
    case Elem::u2: return nullptr;
    case Elem::i8: return apply<kOp, std::int8_t>;
    case Elem::i16: return apply<kOp, std::int16_t>;
    case Elem::i32: return apply<kOp, std::int32_t>;
    case Elem::i64: return apply<kOp, std::int64_t>;
    case Elem::u8: return apply<kOp, std::uint8_t>;
    case Elem::u16: return apply<kOp, std::uint16_t>;
    case Elem::u32: return apply<kOp, std::uint32_t>;
    case Elem::u64: return apply<kOp, std::uint64_t>;
    case Elem::f16: return apply<kOp, Half>;
    case Elem::bf16: return apply<kOp, BFloat16>;
    case Elem::f32: return apply<kOp, float>;
    case Elem::f64: return apply<kOp, double>;
    default: return nullptr;
  }
}

template <std::size_t kBytes>
void assign(std::byte* data, const std::byte* updates, int64_t count) {
  if (count != 0) std::memcpy(data, updates, static_cast<std::size_t>(count) * kBytes);
}

/// Returns the bytes of an element, or 0 for strings.
int64_t scatter_bytes(Elem elem) { return elem == Elem::string ? 0 : static_cast<int64_t>(byte_size(elem)); }

Apply find_apply(Scatter op, Elem elem) {
  switch (op) {
    case Scatter::none: break;
    case Scatter::add: return find_apply<Scatter::add>(elem);
    case Scatter::mul: return find_apply<Scatter::mul>(elem);
    case Scatter::max: return find_apply<Scatter::max>(elem);
    case Scatter::min: return find_apply<Scatter::min>(elem);
  }
  switch (scatter_bytes(elem)) {
    case 1: return assign<1>;
    case 2: return assign<2>;
    case 4: return assign<4>;
    case 8: return assign<8>;
    case 16: return assign<16>;
    default: return nullptr;
  }
}

}  // namespace

int64_t gather(void* dst, const void* src, int64_t outer, int64_t extent, int64_t inner_bytes, Indices indices,
               int64_t count) noexcept {
  if (const int64_t bad = first_outside(indices, count, extent); bad >= 0 || stop_requested()) return bad;
  if (count == 0 || inner_bytes == 0) return -1;
  std::byte* to = static_cast<std::byte*>(dst);
  const std::byte* from = static_cast<const std::byte*>(src);
  PollThrottle throttle;
  by_size(inner_bytes, [&]<std::size_t kBytes>() {
    for (int64_t o = 0; o < outer && !throttle.stop(1); ++o, to += count * inner_bytes, from += extent * inner_bytes) {
      if (indices.wide) {
        gather_rows<kBytes>(to, from, static_cast<const int64_t*>(indices.data), count, extent, inner_bytes, throttle);
      } else {
        gather_rows<kBytes>(to, from, static_cast<const std::int32_t*>(indices.data), count, extent, inner_bytes,
                            throttle);
      }
    }
  });
  return -1;
}

int64_t gather_elements(void* dst, const void* src, std::span<const int64_t> src_dims, Indices indices,
                        std::span<const int64_t> index_dims, int64_t axis, int64_t elem_size) noexcept {
  const Selection s{src_dims, index_dims, static_cast<std::size_t>(axis), indices};
  if (const int64_t bad = s.first_bad(); bad >= 0 || stop_requested()) return bad;
  std::byte* const to = static_cast<std::byte*>(dst);
  const std::byte* const from = static_cast<const std::byte*>(src);
  by_size(elem_size, [&]<std::size_t kBytes>() {
    const int64_t e = kBytes != 0 ? static_cast<int64_t>(kBytes) : elem_size;
    s.for_each([&](int64_t offset, int64_t flat) { move<kBytes>(to + flat * e, from + offset * e, e); });
  });
  return -1;
}

int64_t gather_nd(void* dst, const void* src, int64_t batch, std::span<const int64_t> tuple_dims, int64_t inner_bytes,
                  Indices indices, int64_t count) noexcept {
  if (const int64_t bad = first_outside_tuple(indices, batch * count, tuple_dims); bad >= 0 || stop_requested())
    return bad;
  if (count == 0 || inner_bytes == 0) return -1;
  std::byte* const to = static_cast<std::byte*>(dst);
  const std::byte* const from = static_cast<const std::byte*>(src);
  const int64_t plane = product(tuple_dims);
  PollThrottle throttle;
  by_size(inner_bytes, [&]<std::size_t kBytes>() {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = b * count; i < (b + 1) * count; ++i) {
        if (throttle.stop(1 + inner_bytes / 16)) return;
        move<kBytes>(to + i * inner_bytes, from + (b * plane + tuple_offset(indices, i, tuple_dims)) * inner_bytes,
                     inner_bytes);
      }
  });
  return -1;
}

bool scatter_supports(Scatter op, Elem elem) noexcept { return find_apply(op, elem) != nullptr; }

int64_t scatter_elements(Scatter op, Elem elem, void* data, std::span<const int64_t> data_dims, Indices indices,
                         const void* updates, std::span<const int64_t> index_dims, int64_t axis) noexcept {
  const Apply apply_one = find_apply(op, elem);
  if (apply_one == nullptr) return -1;
  const Selection s{data_dims, index_dims, static_cast<std::size_t>(axis), indices};
  if (const int64_t bad = s.first_bad(); bad >= 0 || stop_requested()) return bad;
  std::byte* const to = static_cast<std::byte*>(data);
  const std::byte* const from = static_cast<const std::byte*>(updates);
  const int64_t e = scatter_bytes(elem);
  s.for_each([&](int64_t offset, int64_t flat) { apply_one(to + offset * e, from + flat * e, 1); });
  return -1;
}

int64_t scatter_nd(Scatter op, Elem elem, void* data, std::span<const int64_t> tuple_dims, int64_t inner,
                   Indices indices, int64_t count, const void* updates) noexcept {
  const Apply apply_row = find_apply(op, elem);
  if (apply_row == nullptr) return -1;
  if (const int64_t bad = first_outside_tuple(indices, count, tuple_dims); bad >= 0 || stop_requested()) return bad;
  if (inner == 0) return -1;
  const int64_t bytes = inner * scatter_bytes(elem);
  PollThrottle throttle;
  for (int64_t i = 0; i < count && !throttle.stop(1 + inner); ++i)
    apply_row(static_cast<std::byte*>(data) + tuple_offset(indices, i, tuple_dims) * bytes,
              static_cast<const std::byte*>(updates) + i * bytes, inner);
  return -1;
}

}  // namespace frazil::kernel
