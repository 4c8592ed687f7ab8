#include "kernel/move/copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/thread/poll_throttle.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

struct Element16 {
  std::uint64_t lo, hi;
};

template <class T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

template <class T>
void store(std::byte* p, T value) {
  std::memcpy(p, &value, sizeof(T));
}

/// Copies a row like memcpy, with rows of 16 to 128 bytes inlined.
inline void copy_row(std::byte* dst, const std::byte* src, int64_t bytes) {
  if (bytes < 16 || bytes > 128) {
    std::memcpy(dst, src, static_cast<std::size_t>(bytes));
    return;
  }
  for (int64_t i = 0; i + 16 <= bytes; i += 16) store(dst + i, load<Element16>(src + i));
  store(dst + bytes - 16, load<Element16>(src + bytes - 16));
}

struct Block2 {
  int64_t dims[2], dst[2], src[2];
};

/// Returns the last two dimensions of the plan; missing ones have extent 1.
Block2 inner_block(const CopyPlan& p) {
  Block2 b = {{1, 1}, {0, 0}, {0, 0}};
  for (int k = 0; k < 2; ++k) {
    const int d = p.rank - 2 + k;
    if (d < 0) continue;
    b.dims[k] = p.dims[d];
    b.dst[k] = p.dst_strides[d];
    b.src[k] = p.src_strides[d];
  }
  return b;
}

/// Calls f(dst, src) for every index of the dimensions except the last two, until it returns false.
template <class F>
void for_outer(const CopyPlan& p, std::byte* dst, const std::byte* src, F f) {
  const int outer = p.rank - 2;
  int64_t index[kMaxCopyRank] = {};
  for (;;) {
    if (!f(dst, src)) return;
    int d = outer - 1;
    for (; d >= 0; --d) {
      if (++index[d] < p.dims[d]) {
        dst += p.dst_strides[d];
        src += p.src_strides[d];
        break;
      }
      index[d] = 0;
      dst -= (p.dims[d] - 1) * p.dst_strides[d];
      src -= (p.dims[d] - 1) * p.src_strides[d];
    }
    if (d < 0) return;
  }
}

/// Calls f(dst, src, count) for each row, in pieces if it is long, until the run has to stop.
template <class F>
void for_rows(const CopyPlan& p, std::byte* dst, const std::byte* src, F f) {
  constexpr int64_t kPiece = int64_t{1} << 16;
  const Block2 b = inner_block(p);
  PollThrottle throttle;
  for_outer(p, dst, src, [&](std::byte* d, const std::byte* s) {
    for (int64_t i = 0; i < b.dims[0]; ++i, d += b.dst[0], s += b.src[0]) {
      for (int64_t j = 0; j < b.dims[1]; j += kPiece) {
        const int64_t count = std::min(kPiece, b.dims[1] - j);
        if (throttle.stop(count)) return false;
        f(d + j * b.dst[1], s + j * b.src[1], count);
      }
    }
    return true;
  });
}

void run_rows(const CopyPlan& p, std::byte* dst, const std::byte* src) {
  for_rows(p, dst, src, [&](std::byte* d, const std::byte* s, int64_t count) { copy_row(d, s, count * p.elem_size); });
}

void run_block(const CopyPlan& p, std::byte* dst, const std::byte* src) {
  constexpr int64_t kPiece = int64_t{1} << 22;
  for (int64_t at = 0; at < p.elem_size; at += kPiece) {
    if (at > 0 && stop_requested()) return;
    std::memcpy(dst + at, src + at, static_cast<std::size_t>(std::min(kPiece, p.elem_size - at)));
  }
}

template <class T>
void fill_row(std::byte* dst, T value, int64_t count) {
  for (int64_t j = 0; j < count; ++j) store(dst + j * static_cast<int64_t>(sizeof(T)), value);
}

template <class T>
void run_fill(const CopyPlan& p, std::byte* dst, const std::byte* src) {
  for_rows(p, dst, src, [](std::byte* d, const std::byte* s, int64_t count) { fill_row(d, load<T>(s), count); });
}

template <class T>
void run_strided(const CopyPlan& p, std::byte* dst, const std::byte* src) {
  constexpr auto e = static_cast<int64_t>(sizeof(T));
  const Block2 b = inner_block(p);
  for_rows(p, dst, src, [&](std::byte* d, const std::byte* s, int64_t count) {
    if (b.dst[1] == e) {
      for (int64_t j = 0; j < count; ++j) store(d + j * e, load<T>(s + j * b.src[1]));
    } else {
      for (int64_t j = 0; j < count; ++j) store(d + j * b.dst[1], load<T>(s + j * b.src[1]));
    }
  });
}

void run_any(const CopyPlan& p, std::byte* dst, const std::byte* src) {
  const Block2 b = inner_block(p);
  const auto bytes = static_cast<std::size_t>(p.elem_size);
  for_rows(p, dst, src, [&](std::byte* d, const std::byte* s, int64_t count) {
    for (int64_t j = 0; j < count; ++j) std::memcpy(d + j * b.dst[1], s + j * b.src[1], bytes);
  });
}

template <class T>
struct Tile {
  static constexpr int kSide = 16 / static_cast<int>(sizeof(T));
  typedef T Vec __attribute__((vector_size(16)));

  static Vec low(Vec a, Vec b) {
    if constexpr (kSide == 2) return __builtin_shufflevector(a, b, 0, 2);
    if constexpr (kSide == 4) return __builtin_shufflevector(a, b, 0, 4, 1, 5);
    if constexpr (kSide == 8) return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    if constexpr (kSide == 16)
      return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  }
  static Vec high(Vec a, Vec b) {
    if constexpr (kSide == 2) return __builtin_shufflevector(a, b, 1, 3);
    if constexpr (kSide == 4) return __builtin_shufflevector(a, b, 2, 6, 3, 7);
    if constexpr (kSide == 8) return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    if constexpr (kSide == 16)
      return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  }

  /// Sets dst[i][j] = src[j][i], kSide x kSide, by log2(kSide) perfect shuffles of the rows.
  static void transpose(std::byte* dst, int64_t dst_row, const std::byte* src, int64_t src_row) {
    Vec v[kSide], t[kSide];
    for (int r = 0; r < kSide; ++r) v[r] = load<Vec>(src + r * src_row);
    for (int step = 1; step < kSide; step *= 2) {
      for (int r = 0; r < kSide / 2; ++r) {
        t[2 * r] = low(v[r], v[r + kSide / 2]);
        t[2 * r + 1] = high(v[r], v[r + kSide / 2]);
      }
      for (int r = 0; r < kSide; ++r) v[r] = t[r];
    }
    for (int r = 0; r < kSide; ++r) store(dst + r * dst_row, v[r]);
  }
};

template <class T>
void transpose_scalar(std::byte* d, int64_t dst_row, const std::byte* s, int64_t src_row, int64_t rows, int64_t cols) {
  constexpr int64_t e = sizeof(T);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) store(d + i * dst_row + j * e, load<T>(s + i * e + j * src_row));
}

/// Transposes one square of at most a cache line per side.
template <class T>
void transpose_square(std::byte* d, int64_t dst_row, const std::byte* s, int64_t src_row, int64_t rows, int64_t cols) {
  constexpr int64_t e = sizeof(T), side = Tile<T>::kSide;
  int64_t i = 0;
  for (; i + side <= rows; i += side) {
    int64_t j = 0;
    for (; j + side <= cols; j += side)
      Tile<T>::transpose(d + i * dst_row + j * e, dst_row, s + i * e + j * src_row, src_row);
    transpose_scalar<T>(d + i * dst_row + j * e, dst_row, s + i * e + j * src_row, src_row, side, cols - j);
  }
  transpose_scalar<T>(d + i * dst_row, dst_row, s + i * e, src_row, rows - i, cols);
}

/// Sets dst[i][j] = src[j][i]. Works in squares of whole cache lines on both sides, grouped into areas with few
/// enough rows for the TLB. Returns false if the run has to stop.
template <class T>
bool transpose(std::byte* d, int64_t dst_row, const std::byte* s, int64_t src_row, int64_t rows, int64_t cols,
               PollThrottle& throttle) {
  constexpr int64_t e = sizeof(T), side = Tile<T>::kSide, line = 4 * side, area = 256;
  for (int64_t j1 = 0; j1 < cols; j1 += area) {
    for (int64_t i0 = 0; i0 < rows; i0 += line) {
      const int64_t end = std::min(cols, j1 + area);
      if (throttle.stop(line * area)) return false;
      for (int64_t j0 = j1; j0 < end; j0 += line)
        transpose_square<T>(d + i0 * dst_row + j0 * e, dst_row, s + i0 * e + j0 * src_row, src_row,
                            std::min(line, rows - i0), std::min(line, end - j0));
    }
  }
  return true;
}

template <class T>
void run_transpose(const CopyPlan& p, std::byte* dst, const std::byte* src) {
  const Block2 b = inner_block(p);
  PollThrottle throttle;
  for_outer(p, dst, src, [&](std::byte* d, const std::byte* s) {
    return transpose<T>(d, b.dst[0], s, b.src[1], b.dims[0], b.dims[1], throttle);
  });
}

constexpr int kMaxLanes = 8;  ///< largest number of rows that are interleaved

/// Returns whether the last dimension of dst takes one element of each of a few rows in turn.
bool joins_rows(const CopyPlan& p) {
  const int last = p.rank - 1;
  return p.dims[last] <= kMaxLanes && p.dst_strides[last - 1] == p.dims[last] * p.dst_strides[last];
}

/// Writes dst[j][i] = src[i][j] for i < kRows if kJoins, else the reverse. One side is dense; rows of the other are
/// `row` bytes apart.
template <class T, int kRows, bool kJoins>
void interleave(std::byte* __restrict d, const std::byte* __restrict s, int64_t row, int64_t n) {
  constexpr int64_t e = sizeof(T);
  for (int64_t j = 0; j < n; ++j) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const int64_t dense = (j * kRows + i) * e, apart = i * row + j * e;
      store(d + (kJoins ? dense : apart), load<T>(s + (kJoins ? apart : dense)));
    }
  }
}

using InterleaveFn = void (*)(std::byte*, const std::byte*, int64_t, int64_t);

template <class T, bool kJoins>
InterleaveFn interleave_fn(int64_t rows) {
  static constexpr InterleaveFn kBy[] = {interleave<T, 2, kJoins>, interleave<T, 3, kJoins>, interleave<T, 4, kJoins>,
                                         interleave<T, 5, kJoins>, interleave<T, 6, kJoins>, interleave<T, 7, kJoins>,
                                         interleave<T, 8, kJoins>};
  return kBy[rows - 2];
}

/// Interleaves the elements of a few long rows, or separates interleaved elements into rows. The interleaved side is
/// dense.
template <class T>
void run_interleave(const CopyPlan& p, std::byte* dst, const std::byte* src) {
  const Block2 b = inner_block(p);
  const bool joins = joins_rows(p);
  const int64_t rows = joins ? b.dims[1] : b.dims[0], n = joins ? b.dims[0] : b.dims[1];
  if (rows < 2 || rows > kMaxLanes) return run_strided<T>(p, dst, src);
  const InterleaveFn run = joins ? interleave_fn<T, true>(rows) : interleave_fn<T, false>(rows);
  PollThrottle throttle;
  for_outer(p, dst, src, [&](std::byte* d, const std::byte* s) {
    constexpr int64_t kPiece = int64_t{1} << 16;
    for (int64_t j = 0; j < n; j += kPiece) {
      const int64_t count = std::min(kPiece, n - j);
      if (throttle.stop(rows * count)) return false;
      const int64_t to = joins ? b.dst[0] : b.dst[1], from = joins ? b.src[0] : b.src[1];
      run(d + j * to, s + j * from, joins ? b.src[1] : b.dst[0], count);
    }
    return true;
  });
}

void swap_dims(CopyPlan& p, int a, int b) {
  std::swap(p.dims[a], p.dims[b]);
  std::swap(p.dst_strides[a], p.dst_strides[b]);
  std::swap(p.src_strides[a], p.src_strides[b]);
}

void append(CopyPlan& p, int64_t dim, int64_t dst, int64_t src) {
  p.dims[p.rank] = dim;
  p.dst_strides[p.rank] = dst;
  p.src_strides[p.rank] = src;
  ++p.rank;
}

void sort_for_dst(CopyPlan& p) {
  const auto before = [&](int a, int b) {
    const int64_t x = std::abs(p.dst_strides[a]), y = std::abs(p.dst_strides[b]);
    return x != y ? x > y : std::abs(p.src_strides[a]) > std::abs(p.src_strides[b]);
  };
  for (int i = 1; i < p.rank; ++i)
    for (int j = i; j > 0 && before(j, j - 1); --j) swap_dims(p, j, j - 1);
}

void merge(CopyPlan& p) {
  int kept = 0;
  for (int d = 1; d < p.rank; ++d) {
    if (p.dst_strides[kept] == p.dims[d] * p.dst_strides[d] && p.src_strides[kept] == p.dims[d] * p.src_strides[d]) {
      p.dims[kept] *= p.dims[d];
      p.dst_strides[kept] = p.dst_strides[d];
      p.src_strides[kept] = p.src_strides[d];
    } else {
      ++kept;
      p.dims[kept] = p.dims[d];
      p.dst_strides[kept] = p.dst_strides[d];
      p.src_strides[kept] = p.src_strides[d];
    }
  }
  if (p.rank > 0) p.rank = static_cast<std::int8_t>(kept + 1);
}

constexpr bool is_move_size(int64_t e) { return e == 1 || e == 2 || e == 4 || e == 8 || e == 16; }

CopyPlan::Kind classify(CopyPlan& p) {
  using Kind = CopyPlan::Kind;
  for (;;) {
    if (p.rank == 0) return Kind::block;
    const int last = p.rank - 1;
    const int64_t e = p.elem_size;
    if (p.dst_strides[last] != e) return Kind::strided;
    if (p.src_strides[last] == e) {
      const int64_t bytes = p.dims[last] * e;
      if (p.rank > 1 && !is_move_size(bytes)) return Kind::rows;
      p.elem_size = bytes;
      --p.rank;
      continue;
    }
    if (!is_move_size(e)) return Kind::strided;
    if (p.src_strides[last] == 0) return Kind::fill;
    if (e > 8) return Kind::strided;
    for (int d = last - 1; d >= 0; --d) {
      if (p.src_strides[d] != e) continue;
      const bool joins = p.dims[last] <= kMaxLanes && p.dst_strides[d] == p.dims[last] * e;
      const bool parts = p.dims[d] <= kMaxLanes && p.src_strides[last] == p.dims[d] * e;
      const bool turns = p.dims[d] >= 16 / e && p.dims[last] >= 16 / e;
      if (!joins && !parts && !turns) continue;
      for (int k = d; k + 1 < last; ++k) swap_dims(p, k, k + 1);
      return joins || parts ? Kind::interleave : Kind::transpose;
    }
    return Kind::strided;
  }
}

}  // namespace

bool plan_copy(CopyPlan& plan, std::span<const int64_t> dims, std::span<const int64_t> dst_strides,
               std::span<const int64_t> src_strides, int64_t elem_size) noexcept {
  CopyPlan p;
  p.elem_size = elem_size;
  plan = p;
  if (elem_size == 0 || std::ranges::find(dims, 0) != dims.end()) return true;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    if (p.rank == kMaxCopyRank) merge(p);
    if (p.rank == kMaxCopyRank) return false;
    append(p, dims[d], dst_strides[d] * elem_size, src_strides[d] * elem_size);
  }
  merge(p);
  sort_for_dst(p);
  merge(p);
  p.kind = classify(p);
  plan = p;
  return true;
}

void run_copy(const CopyPlan& p, void* dst_data, const void* src_data) noexcept {
  using Kind = CopyPlan::Kind;
  std::byte* const dst = static_cast<std::byte*>(dst_data);
  const std::byte* const src = static_cast<const std::byte*>(src_data);
  const auto by_size = [&]<class... T>(auto run) {
    switch (p.elem_size) {
      case 1: return run.template operator()<std::uint8_t>();
      case 2: return run.template operator()<std::uint16_t>();
      case 4: return run.template operator()<std::uint32_t>();
      case 8: return run.template operator()<std::uint64_t>();
      case 16: return run.template operator()<Element16>();
      default: return run_any(p, dst, src);
    }
  };
  switch (p.kind) {
    case Kind::empty: return;
    case Kind::block: run_block(p, dst, src); return;
    case Kind::rows: run_rows(p, dst, src); return;
    case Kind::fill: by_size([&]<class T>() { run_fill<T>(p, dst, src); }); return;
    case Kind::strided: by_size([&]<class T>() { run_strided<T>(p, dst, src); }); return;
    case Kind::interleave:
      by_size([&]<class T>() {
        if constexpr (sizeof(T) < 16) run_interleave<T>(p, dst, src);
      });
      return;
    case Kind::transpose:
      by_size([&]<class T>() {
        if constexpr (sizeof(T) < 16) run_transpose<T>(p, dst, src);
      });
      return;
  }
}

int64_t copy_bytes(const CopyPlan& p) noexcept {
  if (p.kind == CopyPlan::Kind::empty) return 0;
  int64_t bytes = p.elem_size;
  for (int d = 0; d < p.rank; ++d) bytes *= p.dims[d];
  return bytes;
}

/// Returns the longest dimension, except the one that has to stay whole.
static int longest_dim(const CopyPlan& p) {
  const bool parts = p.kind == CopyPlan::Kind::interleave && !joins_rows(p);
  const int whole = p.rank - (parts ? 2 : 1);
  int longest = -1;
  for (int d = 0; d < p.rank; ++d) {
    if ((d != whole || p.rank == 1) && (longest < 0 || p.dims[d] > p.dims[longest])) longest = d;
  }
  return longest;
}

CopyParts copy_parts(const CopyPlan& p, int64_t bytes) noexcept {
  constexpr int64_t kSide = 64;  // the longest side of a square of a transpose
  const int64_t all = copy_bytes(p);
  if (all <= bytes) return {};
  CopyParts parts{.dim = 0, .extent = p.elem_size};
  if (p.rank > 0) {
    parts.dim = longest_dim(p);
    parts.extent = p.dims[parts.dim];
  }
  const int64_t units = std::max<int64_t>(1, bytes / std::max<int64_t>(1, all / parts.extent));
  const bool by_squares = p.rank == 0 || p.kind == CopyPlan::Kind::transpose;
  parts.each = by_squares ? (units + kSide - 1) / kSide * kSide : units;
  parts.count = (parts.extent + parts.each - 1) / parts.each;
  return parts;
}

void run_copy_parts(const CopyPlan& plan, const CopyParts& parts, int64_t begin, int64_t end, void* dst,
                    const void* src) noexcept {
  if (begin == 0 && end == parts.count) return run_copy(plan, dst, src);
  const int64_t first = begin * parts.each, past = std::min(parts.extent, end * parts.each);
  CopyPlan part = plan;
  (plan.rank == 0 ? part.elem_size : part.dims[parts.dim]) = past - first;
  const int64_t to = plan.rank == 0 ? 1 : plan.dst_strides[parts.dim];
  const int64_t from = plan.rank == 0 ? 1 : plan.src_strides[parts.dim];
  run_copy(part, static_cast<std::byte*>(dst) + first * to, static_cast<const std::byte*>(src) + first * from);
}

void copy_strided(void* dst, std::span<const int64_t> dst_strides, const void* src,
                  std::span<const int64_t> src_strides, std::span<const int64_t> dims, int64_t elem_size) noexcept {
  CopyPlan plan;
  if (plan_copy(plan, dims, dst_strides, src_strides, elem_size)) {
    run_copy(plan, dst, src);
    return;
  }
  for (int64_t i = 0; i < dims[0]; ++i) {
    copy_strided(static_cast<std::byte*>(dst) + i * dst_strides[0] * elem_size, dst_strides.subspan(1),
                 static_cast<const std::byte*>(src) + i * src_strides[0] * elem_size, src_strides.subspan(1),
                 dims.subspan(1), elem_size);
  }
}

void fill_strided(void* dst, std::span<const int64_t> dst_strides, std::span<const int64_t> dims, const void* value,
                  int64_t elem_size) noexcept {
  if (dims.size() > kMaxCopyRank) {
    for (int64_t i = 0; i < dims[0]; ++i)
      fill_strided(static_cast<std::byte*>(dst) + i * dst_strides[0] * elem_size, dst_strides.subspan(1),
                   dims.subspan(1), value, elem_size);
    return;
  }
  constexpr int64_t zeros[kMaxCopyRank] = {};
  copy_strided(dst, dst_strides, value, std::span(zeros).first(dims.size()), dims, elem_size);
}

}  // namespace frazil::kernel
