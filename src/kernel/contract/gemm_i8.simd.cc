#include "kernel/contract/gemm_i8.simd.h"

#include <cstring>
#include <type_traits>

#include "base/poll_throttle.h"
#include "kernel/simd/byte_lanes.h"
#include "kernel/simd/nearer.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

using std::int32_t;
using std::int64_t;

// ---- B as it lies ----

constexpr int64_t kCols = 64;  ///< of C at once: their sums stay in registers or L1

/// Columns [first, first + cols) of row i of C.
template <class A, class B>
void row_part(const GemmCall& g, int64_t i, int64_t first, int64_t cols, const std::int32_t* zero) {
  const A* const a = static_cast<const A*>(g.a) + i * g.a_row;
  const B* b = static_cast<const B*>(g.b) + first * g.b_col;
  const A* const a_zero = static_cast<const A*>(g.a_zero);
  const std::int32_t az = a_zero != nullptr ? a_zero[i * g.a_zero_step] : 0;
  std::uint32_t sums[kCols] = {};
  for (int64_t p = 0; p < g.k; ++p, b += g.b_row) {
    const std::int32_t x = a[p * g.a_col] - az;
    if (g.b_col == 1 && cols == kCols) {
      for (int64_t j = 0; j < kCols; ++j) sums[j] += static_cast<std::uint32_t>(x * (b[j] - zero[j]));
    } else {
      for (int64_t j = 0; j < cols; ++j) sums[j] += static_cast<std::uint32_t>(x * (b[j * g.b_col] - zero[j]));
    }
  }
  auto* const c = static_cast<std::int32_t*>(g.c) + i * g.c_row + first;
  for (int64_t j = 0; j < cols; ++j) c[j] = static_cast<std::int32_t>(sums[j]);
}

template <class A, class B>
void rows_of(const GemmCall& g, int64_t begin, int64_t end) {
  const B* const b_zero = static_cast<const B*>(g.b_zero);
  PollThrottle throttle;
  for (int64_t first = 0; first < g.n; first += kCols) {
    const int64_t cols = g.n - first < kCols ? g.n - first : kCols;
    std::int32_t zero[kCols] = {};
    for (int64_t j = 0; j < cols && b_zero != nullptr; ++j) zero[j] = b_zero[(first + j) * g.b_zero_step];
    for (int64_t i = begin; i < end; ++i) {
      if (throttle.stop(g.k * cols)) return;
      row_part<A, B>(g, i, first, cols, zero);
    }
  }
}

// ---- packed B ----

// A step multiplies four elements of each row with four of each column. VNNI and SDOT sum them at once. Elsewhere bytes
// become 16-bit numbers, whose products are summed in pairs: elements 0 and 2, then 1 and 3, as that is how bytes of B
// are widened in place. vpmaddubsw would sum in 16 bits, which is too few.
#if defined(__AVX512VNNI__)
constexpr int kHalves = 1;
constexpr int32_t kMoved = 0;
using Wide = std::int8_t;  ///< an element of packed A
FRAZIL_INLINE void add_products(I32v& sum, I32v b, I32v a) {
  sum = (I32v)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)b, (__m512i)a);
}
FRAZIL_INLINE I32v widened(I32v b, int) { return b; }
#elif defined(__ARM_FEATURE_DOTPROD)
constexpr int kHalves = 1;
constexpr int32_t kMoved = 128;  ///< what is taken from elements of B
using Wide = std::int8_t;
FRAZIL_INLINE void add_products(I32v& sum, I32v b, I32v a) {
  sum = (I32v)vdotq_s32((int32x4_t)sum, (int8x16_t)b, (int8x16_t)a);
}
FRAZIL_INLINE I32v widened(I32v b, int) { return (I32v)((U32v)b ^ 0x80808080u); }
#else
constexpr int kHalves = 2;
constexpr int32_t kMoved = 0;
using Wide = std::int16_t;
using U16v = std::uint16_t __attribute__((vector_size(kVectorBytes)));
#if defined(FRAZIL_NEON)
/// Sums of first and second elements of pairs side by side, of the lower and of the upper columns: they are added at
/// the end, as no instruction adds products in pairs.
struct PairSums {
  I32v low = {}, high = {};
};
FRAZIL_INLINE void add_products(PairSums& sum, I32v b, I32v a) {
  const auto x = (int16x8_t)b, y = (int16x8_t)a;
  sum.low = (I32v)vmlal_s16((int32x4_t)sum.low, vget_low_s16(x), vget_low_s16(y));
  sum.high = (I32v)vmlal_high_s16((int32x4_t)sum.high, x, y);
}
#else
FRAZIL_INLINE void add_products(I32v& sum, I32v b, I32v a) { add_pairs(sum, b, a); }
#endif
/// Elements 0 and 2, or 1 and 3, of each column's four.
FRAZIL_INLINE I32v widened(I32v b, int half) { return (I32v)(half == 0 ? (U16v)b & 0xff : (U16v)b >> 8); }
#endif
#if defined(FRAZIL_NEON) && !defined(__ARM_FEATURE_DOTPROD)
using Sum = PairSums;
FRAZIL_INLINE I32v total(const Sum& sum) { return (I32v)vpaddq_s32((int32x4_t)sum.low, (int32x4_t)sum.high); }
#else
using Sum = I32v;  ///< of a vector of columns
FRAZIL_INLINE I32v total(Sum sum) { return sum; }
#endif
constexpr int64_t kQuad = 4 * sizeof(Wide);  ///< bytes of four elements of packed A
static_assert(kQuad <= kByteQuadSize);

#if defined(__AVX512F__)
constexpr int kTileRows = 12;
constexpr int kNarrowRows = 0;  ///< up to which four vectors fit into the registers
#elif defined(__ARM_FEATURE_DOTPROD)
constexpr int kTileRows = 12;
constexpr int kNarrowRows = 6;
#else
constexpr int kTileRows = 6;
constexpr int kNarrowRows = 3;  ///< up to which four vectors fit into the registers
#endif

/// A tile of C, at most kByteCols wide.
struct ByteTile {
  int64_t quads;
  const std::byte* a;     ///< [quad][row][4]
  const std::uint8_t* b;  ///< [quad][kByteCols][4]
  int32_t* c;
  int64_t c_row, cols;
  bool accumulate, last;
  const int32_t* row_sums;   ///< of A
  const int32_t* row_zeros;  ///< of A
  const int32_t* col_terms;  ///< sum b - k bz
  const int32_t* col_zeros;  ///< bz
};

/// Keeps GCC from starting the products of other rows, for which there are no registers.
FRAZIL_INLINE void stay_in_register(I32v& sum) {
#if defined(__AVX512F__)
  asm volatile("" : "+v"(sum));
#elif defined(__x86_64__)
  asm volatile("" : "+x"(sum));
#elif defined(FRAZIL_NEON)
  asm volatile("" : "+w"(sum));
#else
  (void)sum;
#endif
}
#if defined(FRAZIL_NEON) && !defined(__ARM_FEATURE_DOTPROD)
FRAZIL_INLINE void stay_in_register(PairSums& sum) {
  stay_in_register(sum.low);
  stay_in_register(sum.high);
}
#endif

FRAZIL_INLINE I32v same(int32_t x) { return x - I32v{}; }

/// What C gets of row r, vector v, from its sum.
FRAZIL_INLINE I32v corrected(const ByteTile& t, I32v sum, int r, int v) {
  const I32v zeros = load<I32v>(t.col_zeros + v * kW), terms = load<I32v>(t.col_terms + v * kW);
  return (I32v)((U32v)sum - (U32v)(zeros - kMoved) * (U32v)same(t.row_sums[r]) -
                (U32v)terms * (U32v)same(t.row_zeros[r]));
}

/// Four elements, or their half, of each of R rows.
template <int R>
struct RowQuads {
#if defined(__ARM_FEATURE_DOTPROD)
  static constexpr int kVectors = R / 4;  ///< rows that are loaded by vectors, as lanes can be factors
  I32v rows[kVectors + 1];
#else
  static constexpr int kVectors = 0;
#endif
  const std::byte* at;
  FRAZIL_INLINE explicit RowQuads(const std::byte* a) : at(a) {
#if defined(__ARM_FEATURE_DOTPROD)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) rows[v] = load<I32v>(a + v * 4 * kQuad);
#endif
  }
  FRAZIL_INLINE void add(Sum& sum, I32v b, int r) const {
#if defined(__ARM_FEATURE_DOTPROD)
    if (r < 4 * kVectors) {
      const auto with = [&](auto lane) __attribute__((always_inline)) {
        sum = (I32v)vdotq_laneq_s32((int32x4_t)sum, (int8x16_t)b, (int8x16_t)rows[r / 4], decltype(lane)::value);
      };
      switch (r % 4) {
        case 0: return with(std::integral_constant<int, 0>());
        case 1: return with(std::integral_constant<int, 1>());
        case 2: return with(std::integral_constant<int, 2>());
        default: return with(std::integral_constant<int, 3>());
      }
    }
#endif
    int32_t x;
    __builtin_memcpy(&x, at + r * kQuad, sizeof x);
    add_products(sum, b, same(x));
  }
};

template <int R, int NV>
void byte_tile(const ByteTile& t) {
  Sum acc[R][NV];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc[r][v] = Sum{};
  const std::byte* a = t.a;
  const std::uint8_t* b = t.b;
  for (int64_t q = 0; q < t.quads; ++q, a += R * kQuad, b += 4 * kByteCols) {
#pragma GCC unroll 2
    for (int half = 0; half < kHalves; ++half) {
      I32v bv[NV];
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) bv[v] = widened(load<I32v>(b + v * 4 * kW), half);
      const RowQuads<R> quads(a + half * 4);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) {
          quads.add(acc[r][v], bv[v], r);
          stay_in_register(acc[r][v]);
        }
      }
    }
  }
  int32_t edge[R][NV * kW];
  const bool inside = t.cols >= NV * kW;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    int32_t* const c = t.c + r * t.c_row;
    int32_t* const to = inside ? c : edge[r];
    if (t.accumulate && !inside) std::memcpy(to, c, static_cast<std::size_t>(t.cols) * sizeof *c);
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) {
      I32v sum = total(acc[r][v]);
      if (t.accumulate) sum = (I32v)((U32v)sum + load<U32v>(to + v * kW));
      store(to + v * kW, t.last ? corrected(t, sum, r, v) : sum);
    }
    if (!inside) std::memcpy(c, to, static_cast<std::size_t>(t.cols) * sizeof *c);
  }
}

using ByteTileFn = void (*)(const ByteTile&);

/// Tiles of NV vectors by their number of rows.
template <int NV>
struct ByteTiles {
  ByteTileFn at[kTileRows + 1] = {};
  constexpr ByteTiles() { fill<1>(); }
  template <int R>
  constexpr void fill() {
    at[R] = byte_tile<R, NV>;
    if constexpr (R < (NV == 4 ? kNarrowRows : kTileRows)) fill<R + 1>();
  }
};
template <int NV>
constexpr ByteTiles<NV> kByteTiles;

/// For at most `vectors` vectors of columns.
void multiply(const ByteTile& tile, int64_t rows, int vectors) {
  if (tile.cols <= kW) return kByteTiles<1>.at[rows](tile);
  if constexpr (kNarrowRows > 0) {
    if (vectors == 4) return kByteTiles<4>.at[rows](tile);
  }
  kByteTiles<2>.at[rows](tile);
}

/// Rows of A cut into tiles of nearly equal height.
struct Cut {
  int64_t rows, tiles;
  explicit Cut(int64_t n) : rows(n), tiles((n + kTileRows - 1) / kTileRows) {}
  int64_t begin(int64_t tile) const { return tile * rows / tiles; }
  int64_t highest() const { return (rows + tiles - 1) / tiles; }
};

/// Sixteen elements of a row to four places of a tile. Without VNNI, elements 0 and 2 of each four come first.
FRAZIL_INLINE void put_16(const void* from, std::uint8_t flip, std::byte* to, int64_t step) {
  using U8x16 = std::uint8_t __attribute__((vector_size(16)));
  using I8x16 = std::int8_t __attribute__((vector_size(16)));
  using Wide16 = Wide __attribute__((vector_size(16 * sizeof(Wide))));
  const auto x = (I8x16)(load<U8x16>(from) ^ flip);
  auto wide = __builtin_convertvector(x, Wide16);
  if constexpr (kHalves == 2)
    wide = __builtin_shufflevector(wide, wide, 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
  Wide quads[16];
  store(quads, wide);
  for (int i = 0; i < 4; ++i) __builtin_memcpy(to + i * step, quads + 4 * i, kQuad);
}

/// One row of a tile of `height` rows, from element `p` on, which is a multiple of 16.
void pack_row(const std::uint8_t* from, int64_t p, int64_t k, std::uint8_t flip, int64_t height, std::byte* to) {
  const int64_t step = height * kQuad;
  to += p / 4 * step;
  for (; p + 16 <= k; p += 16, to += 4 * step) put_16(from + p, flip, to, step);
  if (p == k) return;
  std::uint8_t rest[16];
  std::memset(rest, flip, sizeof rest);  // zeros, once they are flipped
  std::memcpy(rest, from + p, static_cast<std::size_t>(k - p));
  std::byte quads[4 * kQuad];
  put_16(rest, flip, quads, kQuad);
  for (int64_t i = 0; i < byte_quads(k - p); ++i) std::memcpy(to + i * step, quads + i * kQuad, kQuad);
}

/// Four adjacent rows of a tile, where an element of a packed A is a byte: four elements are one number.
void pack_four_rows(const std::uint8_t* const (&from)[4], int64_t k, std::uint8_t flip, int64_t height, std::byte* to) {
  using U8x16 = std::uint8_t __attribute__((vector_size(16)));
  using U32x4 = std::uint32_t __attribute__((vector_size(16)));
  const int64_t step = height * kQuad, whole = k / 16 * 16;
  for (int64_t p = 0; p < whole; p += 16) {
    U32x4 v[4];
    for (int r = 0; r < 4; ++r) v[r] = (U32x4)(load<U8x16>(from[r] + p) ^ flip);
    const U32x4 ab0 = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5),
                ab1 = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
    const U32x4 cd0 = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5),
                cd1 = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
    std::byte* const at = to + p / 4 * step;
    store(at, __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
    store(at + step, __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
    store(at + 2 * step, __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
    store(at + 3 * step, __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
  }
  for (int r = 0; r < 4; ++r) pack_row(from[r], whole, k, flip, height, to + r * kQuad);
}

/// The sum of k bytes as they are read after `flip`.
int32_t sum_of(const std::uint8_t* x, int64_t k, bool is_signed) {
  int32_t sum = 0;
  int64_t p = 0;
#if defined(__AVX512VNNI__)
  __m512i sums = _mm512_setzero_si512();
  const __m512i ones = _mm512_set1_epi8(1);
  for (; p + 64 <= k; p += 64) {
    const __m512i bytes = _mm512_loadu_si512(x + p);
    sums = is_signed ? _mm512_dpbusd_epi32(sums, ones, bytes) : _mm512_dpbusd_epi32(sums, bytes, ones);
  }
  sum = _mm512_reduce_add_epi32(sums);
#endif
  if (is_signed) {
    for (; p < k; ++p) sum += static_cast<std::int8_t>(x[p]);
    return sum;
  }
  for (; p < k; ++p) sum += x[p];
  return static_cast<int32_t>(sum - 128 * k);
}

/// Rows of A that are ready to be multiplied.
struct ByteBlock {
  const std::byte* a;  ///< of each tile [quad][row][4]
  int32_t sums[kByteRowBlock], zeros[kByteRowBlock];
};

int32_t zero_of(const void* zeros, int64_t i, bool is_signed) {
  if (zeros == nullptr) return 0;
  return is_signed ? static_cast<const std::int8_t*>(zeros)[i] : static_cast<const std::uint8_t*>(zeros)[i];
}

/// Some rows, each side by side.
void find_rows(const ByteProduct& g, int64_t row, int64_t some, std::byte* buffers,
               const std::uint8_t* (&rows)[kByteBuffers]) {
  for (int64_t i = 0; i < some; ++i)
    rows[i] = static_cast<const std::uint8_t*>(g.a.row(g.a.context, row + i, buffers + i * g.k));
}

/// `some` of the rows of a tile, k bytes from `rows` on.
void pack_rows(const std::uint8_t* const (&rows)[kByteBuffers], int64_t some, int64_t k, std::uint8_t flip,
               int64_t height, std::byte* to) {
  if (kQuad == 4 && some == kByteBuffers) return pack_four_rows(rows, k, flip, height, to);
  for (int64_t i = 0; i < some; ++i) pack_row(rows[i], 0, k, flip, height, to + i * kQuad);
}

/// Rows [first, first + height) of a block, which are a tile of it.
void pack_tile(const ByteProduct& g, int64_t row0, int64_t first, int64_t height, std::byte* scratch,
               ByteBlock& block) {
  const std::uint8_t flip = g.signed_a ? 0 : 0x80;
  std::byte* const buffers = scratch + byte_block_bytes(g.k);
  std::byte* const to = scratch + first * byte_quads(g.k) * kQuad;
  const bool by_taps = g.a.point != nullptr && (g.a.taps == 1 || g.k / g.a.taps % 16 == 0);
  const int64_t taps = by_taps ? g.a.taps : 1, depth = g.k / taps;
  for (int64_t r = 0; r < height; r += kByteBuffers) {
    const int64_t some = height - r < kByteBuffers ? height - r : kByteBuffers;
    const int64_t at = first + r;
    if (by_taps) g.a.point(g.a.context, row0 + at, some, g.a.pointers);
    for (int64_t i = 0; i < some; ++i) {
      block.sums[at + i] = 0;
      block.zeros[at + i] = zero_of(g.a_zero, (row0 + at + i) * g.a_zero_step, g.signed_a) - (g.signed_a ? 0 : 128);
    }
    for (int64_t tap = 0; tap < taps; ++tap) {
      const std::uint8_t* rows[kByteBuffers] = {};
      if (!by_taps)
        find_rows(g, row0 + at, some, buffers, rows);
      else
        for (int64_t i = 0; i < some; ++i) rows[i] = g.a.pointers[tap * some + i];
      for (int64_t i = 0; i < some; ++i) block.sums[at + i] += sum_of(rows[i], depth, g.signed_a);
      pack_rows(rows, some, depth, flip, height, to + tap * depth / 4 * height * kQuad + r * kQuad);
    }
  }
}

void pack_block(const ByteProduct& g, int64_t row0, const Cut& cut, std::byte* scratch, ByteBlock& block) {
  block.a = scratch;
  for (int64_t t = 0; t < cut.tiles; ++t) {
    pack_tile(g, row0, cut.begin(t), cut.begin(t + 1) - cut.begin(t), scratch, block);
  }
}

/// What the end of a panel of columns needs.
struct ColumnTerms {
  int32_t zeros[kByteCols] = {}, terms[kByteCols] = {};
  ColumnTerms(const ByteProduct& g, int64_t j) {
    const auto* const packed = static_cast<const int32_t*>(g.packed_b) + g.packed_from;
    const int32_t moved = g.signed_b ? 128 : 0;
    for (int64_t c = 0; c < kByteCols && j + c < g.n; ++c) {
      zeros[c] = zero_of(g.b_zero, (j + c) * g.b_zero_step, g.signed_b) + moved;
      terms[c] = static_cast<int32_t>(packed[j + c] - g.k * zeros[c]);
    }
  }
};

const std::uint8_t* panels_of(const ByteProduct& g) {
  const int64_t cols = g.packed_cols > 0 ? g.packed_cols : g.n;
  const auto* const panels = static_cast<const int32_t*>(g.packed_b) + byte_cols(cols);
  return reinterpret_cast<const std::uint8_t*>(panels) + g.packed_from * byte_quads(g.k) * 4;
}

/// Steps [q0, q1) of rows times a panel of columns, whose sums lie at `c`.
void panel_of_block(const ByteProduct& g, int32_t* c, const Cut& cut, const ByteBlock& block, int64_t j, int64_t q0,
                    int64_t q1) {
  const int64_t quads = byte_quads(g.k);
  const std::uint8_t* const panels = panels_of(g);
  const ColumnTerms columns(g, j);
  const int64_t cols = g.n - j < kByteCols ? g.n - j : kByteCols;
  const int vectors = cut.highest() <= kNarrowRows ? 4 : 2;
  const int64_t widest = vectors * kW;
  for (int64_t at = 0; at < cols; at += widest) {
    for (int64_t t = 0; t < cut.tiles; ++t) {
      const int64_t first = cut.begin(t), height = cut.begin(t + 1) - first;
      ByteTile tile{.quads = q1 - q0,
                    .a = block.a + (first * quads + q0 * height) * kQuad,
                    .b = panels + j * quads * 4 + (q0 * kByteCols + at) * 4,
                    .c = c + first * g.c_row + at,
                    .c_row = g.c_row,
                    .cols = cols - at < widest ? cols - at : widest,
                    .accumulate = q0 > 0,
                    .last = q1 == quads,
                    .row_sums = block.sums + first,
                    .row_zeros = block.zeros + first,
                    .col_terms = columns.terms + at,
                    .col_zeros = columns.zeros + at};
      multiply(tile, height, vectors);
    }
  }
}

#if defined(__AVX512VNNI__)
// ---- A as it lies ----
// Where A is unsigned and B signed and without a zero point, elements of A can be multiplied where they are, and no
// sums of rows are needed.

bool reads_in_place(const ByteProduct& g) {
  const int64_t depth = g.k / g.a.taps;
  const bool lies = g.a.in_place || g.a.point != nullptr;
  return lies && !g.signed_a && g.signed_b && g.b_zero == nullptr && g.a_zero_step == 0 && depth % 4 == 0 && depth >= 8;
}

/// A tile of C over the whole depth.
struct TapTile {
  const std::uint8_t* const* at;  ///< [tap][row]
  int64_t taps, quads;            ///< quads: of a tap
  const std::uint8_t* b;          ///< [tap][quad][kByteCols][4]
  int32_t* c;
  int64_t c_row, cols;
  const int32_t* col_terms;             ///< sum b
  int32_t zero;                         ///< of A
  const std::uint8_t* ahead = nullptr;  ///< what is needed next: some lines of it are fetched every kAheadSteps
  int64_t ahead_lines = 0;
};
constexpr int64_t kAheadSteps = 4, kAheadRows = 8;

template <int R, int NV, bool Ahead = false>
void tap_tile(const TapTile& t) {
  constexpr int kChains = R == 1 ? 4 : R <= 3 ? 2 : 1;  // independent sums, as each product waits for the one before
  __m512i acc[kChains][R][NV];
#pragma GCC unroll 16
  for (int u = 0; u < kChains; ++u)
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) acc[u][r][v] = _mm512_setzero_si512();
  const __m512i flip = _mm512_set1_epi32(static_cast<int>(0x80808080U));
  const std::uint8_t* b = t.b;
  const std::uint8_t* const* at = t.at;
  [[maybe_unused]] const std::uint8_t* ahead = t.ahead;
  for (int64_t tap = 0; tap < t.taps; ++tap, at += R) {
    const std::uint8_t* a[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) a[r] = at[r];
    const auto step = [&](int u, int64_t q) __attribute__((always_inline)) {
      __m512i bv[NV];
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) bv[v] = _mm512_xor_si512(_mm512_loadu_si512(b + v * 64), flip);
      b += 4 * kByteCols;
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        int32_t x;
        __builtin_memcpy(&x, a[r] + 4 * q, sizeof x);
        const __m512i av = _mm512_set1_epi32(x);
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) {
          acc[u][r][v] = _mm512_dpbusd_epi32(acc[u][r][v], av, bv[v]);
          asm volatile("" : "+v"(acc[u][r][v]));
        }
      }
    };
    int64_t q = 0;
    if constexpr (Ahead) {
      for (; q + kAheadSteps <= t.quads; q += kAheadSteps) {
        ahead = bring_nearer(ahead, t.ahead_lines);
#pragma GCC unroll 4
        for (int64_t s = 0; s < kAheadSteps; ++s) step(0, q + s);
      }
    }
    for (; q + kChains <= t.quads; q += kChains) {
#pragma GCC unroll 16
      for (int u = 0; u < kChains; ++u) step(u, q + u);
    }
    for (; q < t.quads; ++q) step(0, q);
  }
  int32_t edge[R][NV * kW];
  const bool inside = t.cols >= NV * kW;
  __m512i moved[NV];
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v)
    moved[v] = _mm512_mullo_epi32(_mm512_set1_epi32(t.zero), _mm512_loadu_si512(t.col_terms + v * kW));
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    int32_t* const to = inside ? t.c + r * t.c_row : edge[r];
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) {
      __m512i sum = acc[0][r][v];
#pragma GCC unroll 16
      for (int u = 1; u < kChains; ++u) sum = _mm512_add_epi32(sum, acc[u][r][v]);
      _mm512_storeu_si512(to + v * kW, _mm512_sub_epi32(sum, moved[v]));
    }
    if (!inside) std::memcpy(t.c + r * t.c_row, to, static_cast<std::size_t>(t.cols) * sizeof *to);
  }
}

using TapTileFn = void (*)(const TapTile&);

template <int NV, bool Ahead = false>
struct TapTiles {
  TapTileFn at[kTileRows + 1] = {};
  constexpr TapTiles() { fill<Ahead ? kAheadRows : 1>(); }
  template <int R>
  constexpr void fill() {
    at[R] = tap_tile<R, NV, Ahead>;
    if constexpr (R < kTileRows) fill<R + 1>();
  }
};
template <int NV, bool Ahead = false>
constexpr TapTiles<NV, Ahead> kTapTiles;

/// Pointers to the rows of a block: for each tile [tap][row].
void point_at_rows(const ByteProduct& g, int64_t row0, const Cut& cut, const std::uint8_t** to) {
  for (int64_t t = 0; t < cut.tiles; ++t) {
    const int64_t first = cut.begin(t), height = cut.begin(t + 1) - first;
    if (g.a.point != nullptr) {
      g.a.point(g.a.context, row0 + first, height, to);
    } else {
      for (int64_t r = 0; r < height; ++r)
        to[r] = static_cast<const std::uint8_t*>(g.a.row(g.a.context, row0 + first + r, nullptr));
    }
    to += height * g.a.taps;
  }
}

/// Rows of a block times a panel of columns, whose sums lie at `c`. Ahead: these are the first rows, and the next panel
/// comes nearer meanwhile.
void panel_in_place(const ByteProduct& g, int32_t* c, const Cut& cut, const std::uint8_t* const* at, int64_t j,
                    bool ahead) {
  const int64_t quads = byte_quads(g.k), cols = g.n - j < kByteCols ? g.n - j : kByteCols;
  const auto* const packed = static_cast<const int32_t*>(g.packed_b) + g.packed_from + j;
  int32_t sums[kByteCols];  // of B as it is
  for (int64_t i = 0; i < kByteCols; ++i) sums[i] = packed[i] - static_cast<int32_t>(128 * g.k);
  const int64_t lines = kByteCols * quads / 16;  // of a panel
  const int64_t wanted = (lines / quads * kAheadSteps + cut.tiles - 1) / cut.tiles;
  TapTile tile{.at = at,
               .taps = g.a.taps,
               .quads = quads / g.a.taps,
               .b = panels_of(g) + j * quads * 4,
               .c = nullptr,
               .c_row = g.c_row,
               .cols = cols,
               .col_terms = sums,
               .zero = zero_of(g.a_zero, 0, false),
               .ahead_lines = wanted};
  for (int64_t t = 0; t < cut.tiles; ++t) {
    const int64_t first = cut.begin(t), height = cut.begin(t + 1) - first;
    tile.c = c + first * g.c_row;
    tile.ahead = tile.b + (lines + t * lines / cut.tiles) * 64;
    const bool brings = ahead && cut.tiles > 1 && height >= kAheadRows && cols > kW;
    const TapTileFn run = brings       ? kTapTiles<2, true>.at[height]
                          : cols <= kW ? kTapTiles<1>.at[height]
                                       : kTapTiles<2>.at[height];
    run(tile);
    tile.at += height * g.a.taps;
  }
}
#else
bool reads_in_place(const ByteProduct&) { return false; }
void point_at_rows(const ByteProduct&, int64_t, const Cut&, const std::uint8_t**) {}
void panel_in_place(const ByteProduct&, int32_t*, const Cut&, const std::uint8_t* const*, int64_t, bool) {}
#endif

}  // namespace

void gemm_i8_packed(const ByteProduct& g, int64_t begin, int64_t end, void* scratch) noexcept {
  constexpr int64_t kDepthQuads = 256, kColBlock = kByteColBlock;
  const int64_t quads = byte_quads(g.k), depths = (quads + kDepthQuads - 1) / kDepthQuads;
  const int64_t first = g.begin_col, past = g.end_col == 0 ? g.n : g.end_col;
  const int64_t most = byte_rows_at_once(g.n, g.k, kQuad), blocks = (end - begin + most - 1) / most;
  const bool in_place = reads_in_place(g);
  ByteBlock block;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t row0 = begin + b * (end - begin) / blocks, row1 = begin + (b + 1) * (end - begin) / blocks;
    const Cut cut(row1 - row0);
    auto* const pointers = static_cast<const std::uint8_t**>(scratch);
    if (in_place)
      point_at_rows(g, row0, cut, pointers);
    else
      pack_block(g, row0, cut, static_cast<std::byte*>(scratch), block);
    const bool passes = g.c == nullptr;
    if (passes) *g.on_tile->result = g.passed;
    int32_t* const rows = passes ? g.passed : g.c + (row0 - g.c_first) * g.c_row;
    for (int64_t j0 = first; j0 < past; j0 += kColBlock) {
      int32_t* const c = passes && !g.on_tile->whole_rows ? rows : rows + j0;  // of column j0
      const int64_t j1 = j0 + kColBlock < past ? j0 + kColBlock : past;
      for (int64_t j = j0; in_place && j < j1; j += kByteCols) {
        if (stop_requested()) return;
        panel_in_place(g, c + (j - j0), cut, pointers, j, row0 == 0 && j + kByteCols < past);
      }
      for (int64_t d = 0; d < depths && !in_place; ++d) {
        if (stop_requested()) return;
        for (int64_t j = j0; j < j1; j += kByteCols)
          panel_of_block(g, c + (j - j0), cut, block, j, d * quads / depths, (d + 1) * quads / depths);
      }
      if (g.on_tile != nullptr && !g.on_tile->whole_rows) (*g.on_tile)(row0, row1, g.first_col + j0, g.first_col + j1);
    }
    if (g.on_tile != nullptr && g.on_tile->whole_rows) (*g.on_tile)(row0, row1, 0, g.n);
  }
}

void gemm_i8_direct(const GemmCall& g, bool signed_a, bool signed_b, int64_t begin, int64_t end) noexcept {
  if (signed_a) {
    signed_b ? rows_of<std::int8_t, std::int8_t>(g, begin, end) : rows_of<std::int8_t, std::uint8_t>(g, begin, end);
  } else {
    signed_b ? rows_of<std::uint8_t, std::int8_t>(g, begin, end) : rows_of<std::uint8_t, std::uint8_t>(g, begin, end);
  }
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
