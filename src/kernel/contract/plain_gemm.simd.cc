#include "kernel/contract/plain_gemm.simd.h"

#include <algorithm>
#include <cstring>

#include "base/thread/poll_throttle.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

template <class T>
struct Tile {
  typedef T Vector __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(T))));
  static constexpr std::int64_t kLanes = kVectorBytes / sizeof(T), kColumns = 2 * kLanes;
  static constexpr std::int64_t kDepth = 128;  ///< steps of k in a packed block
  static constexpr std::int64_t kWidth = static_cast<std::int64_t>(kPlainGemmScratch / sizeof(T)) / kDepth;
};

/// Packs columns [0, n) of b as adjacent tiles of kColumns, each `depth` deep, zero-padded.
template <class T>
void pack(const T* b, std::int64_t b_row, std::int64_t b_col, std::int64_t depth, std::int64_t n, T* to) {
  constexpr std::int64_t kColumns = Tile<T>::kColumns;
  for (std::int64_t j = 0; j < n; j += kColumns) {
    const std::int64_t width = std::min(kColumns, n - j);
    for (std::int64_t p = 0; p < depth; ++p, to += kColumns) {
      for (std::int64_t x = 0; x < width; ++x) to[x] = b[p * b_row + (j + x) * b_col];
      for (std::int64_t x = width; x < kColumns; ++x) to[x] = T{};
    }
  }
}

/// Computes Rows x kColumns elements of c; adds to their values except in the first block.
template <class T, int Rows>
void tile(const T* a, std::int64_t a_row, std::int64_t a_col, const T* b, std::int64_t depth, T* c, std::int64_t c_row,
          bool begins, std::int64_t width) {
  using V = typename Tile<T>::Vector;
  constexpr std::int64_t kLanes = Tile<T>::kLanes, kColumns = Tile<T>::kColumns;
  alignas(64) T edge[Rows][kColumns] = {};
  if (!begins) {
    for (int r = 0; r < Rows; ++r) std::memcpy(edge[r], c + r * c_row, static_cast<std::size_t>(width) * sizeof(T));
  }
  V sum[Rows][2];
  for (int r = 0; r < Rows; ++r) {
    for (int h = 0; h < 2; ++h) sum[r][h] = *reinterpret_cast<const V*>(edge[r] + h * kLanes);
  }
  for (std::int64_t p = 0; p < depth; ++p, b += kColumns) {
    const V left = *reinterpret_cast<const V*>(b), right = *reinterpret_cast<const V*>(b + kLanes);
    for (int r = 0; r < Rows; ++r) {
      const T factor = a[r * a_row + p * a_col];
      sum[r][0] += factor * left;
      sum[r][1] += factor * right;
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int h = 0; h < 2; ++h) *reinterpret_cast<V*>(edge[r] + h * kLanes) = sum[r][h];
    std::memcpy(c + r * c_row, edge[r], static_cast<std::size_t>(width) * sizeof(T));
  }
}

template <class T>
void rows_by_tiles(const PlainGemm& g, const T* a, const T* packed, std::int64_t depth, std::int64_t n, T* c,
                   bool begins, PollThrottle& throttle) {
  constexpr std::int64_t kColumns = Tile<T>::kColumns;
  for (std::int64_t i = 0; i < g.m; i += 4) {
    if (throttle.stop(depth * n / 8)) return;
    const auto rows = static_cast<int>(std::min<std::int64_t>(4, g.m - i));
    for (std::int64_t j = 0; j < n; j += kColumns) {
      const auto run = [&](auto count) {
        tile<T, decltype(count)::value>(a + i * g.a_row, g.a_row, g.a_col, packed + j * depth, depth,
                                        c + i * g.c_row + j, g.c_row, begins, std::min(kColumns, n - j));
      };
      switch (rows) {
        case 4: run(std::integral_constant<int, 4>{}); break;
        case 3: run(std::integral_constant<int, 3>{}); break;
        case 2: run(std::integral_constant<int, 2>{}); break;
        default: run(std::integral_constant<int, 1>{}); break;
      }
    }
  }
}

template <class T>
bool multiply(const PlainGemm& g, std::byte* scratch) {
  const auto *a = static_cast<const T*>(g.a), *b = static_cast<const T*>(g.b);
  T *c = static_cast<T*>(g.c), *packed = reinterpret_cast<T*>(scratch);
  for (std::int64_t i = 0; i < g.m && g.k == 0; ++i) std::fill_n(c + i * g.c_row, g.n, T{});
  PollThrottle throttle;
  for (std::int64_t j = 0; j < g.n; j += Tile<T>::kWidth) {
    const std::int64_t n = std::min(Tile<T>::kWidth, g.n - j);
    for (std::int64_t p = 0; p < g.k; p += Tile<T>::kDepth) {
      const std::int64_t depth = std::min(Tile<T>::kDepth, g.k - p);
      if (throttle.stop(depth * n)) return true;
      pack(b + p * g.b_row + j * g.b_col, g.b_row, g.b_col, depth, n, packed);
      rows_by_tiles(g, a + p * g.a_col, packed, depth, n, c + j, p == 0, throttle);
    }
  }
  return true;
}

}  // namespace

bool plain_gemm_run(Elem elem, const PlainGemm& g, std::byte* scratch) noexcept {
  switch (elem) {
    case Elem::f64: return multiply<double>(g, scratch);
    case Elem::i32:
    case Elem::u32: return multiply<std::uint32_t>(g, scratch);
    case Elem::i64:
    case Elem::u64: return multiply<std::uint64_t>(g, scratch);
    default: return false;
  }
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
