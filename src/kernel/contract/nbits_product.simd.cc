// Products with 4-bit weights in place, for AVX-512. A register holds a table of sixteen floats, one for each possible
// number, from which permutations take weights. A vector of 64 bytes has 128 numbers. Half bytes j of all 32-bit lanes,
// which are eight numbers apart, are multiplied with a vector of A that is arranged like them. Their sums are
// multiplied by the scales of the lanes.

#include "base/thread/poll_throttle.h"
#include "kernel/contract/nbits.simd.h"
#include "kernel/simd/math_lanes.h"

#if defined(__AVX512F__)
namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

using std::int64_t;

constexpr int kHalves = 8;                  ///< half bytes of a lane
constexpr int64_t kMaxRows = 8;             ///< most rows of a tile
constexpr int64_t kCachedBytes = 24 << 10;  ///< bytes of A that stay in the first-level cache

/// Returns the number of columns of a tile whose sums fit into registers.
constexpr int columns_of(int rows) { return rows <= 2 ? 1 : rows <= 4 ? 2 : 1; }

/// The operands of steps [begin, end) of some rows of A and columns of B.
struct NBitsTile {
  const float* a;  ///< the first row, arranged
  int64_t a_row;
  int64_t begin, end;
  int64_t k, block;
  const std::uint8_t* numbers;
  const float* scales;
  const float* zeros;  ///< one per block, or null: all are 8
  float* totals;       ///< [column][row][16]
  int64_t column_totals;
};

/// Returns for each lane which of the blocks of a step it belongs to.
FRAZIL_INLINE __m512i lanes_to_blocks(int64_t block) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  if (block == 32) return _mm512_maskz_srli_epi32(0xffff, lane, 2);
  return block == 64 ? _mm512_maskz_srli_epi32(0xffff, lane, 3) : _mm512_setzero_si512();
}

FRAZIL_INLINE __m512 of_lanes(const float* of_blocks, __mmask8 some, __m512i order) {
  const __m128 few = some == 15 ? _mm_loadu_ps(of_blocks) : _mm_maskz_loadu_ps(some, of_blocks);
  return _mm512_maskz_permutexvar_ps(0xffff, order, _mm512_broadcast_f32x4(few));
}

template <int R, int C, bool HasZeros, bool Tail>
void nbits_tile(const NBitsTile& t) {
  const int64_t blocks = t.k / t.block, column_bytes = t.k / 2;
  const __m512i order = lanes_to_blocks(t.block);
  const __m512 numbers = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512 table = HasZeros ? numbers : _mm512_sub_ps(numbers, _mm512_set1_ps(8));
  const __mmask64 bytes = Tail ? (__mmask64{1} << (t.k % kNBitsStep / 2)) - 1 : ~__mmask64{0};
  __m512 total[R][C];
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c)
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) total[r][c] = _mm512_loadu_ps(t.totals + c * t.column_totals + r * 16);
  for (int64_t s = t.begin; s < t.end; ++s) {
    const float* const a = t.a + s * kNBitsArranged;
    const std::uint8_t* const at = t.numbers + s * kNBitsStep / 2;
    const int64_t block = s * kNBitsStep / t.block;
    const int64_t left = blocks - block;
    const auto some = static_cast<__mmask8>(left >= 4 ? 15 : (1 << left) - 1);
    __m512i x[C];
    __m512 sums[R][C];
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      const std::uint8_t* const from = at + c * column_bytes;
      if constexpr (R > 1) __builtin_prefetch(from + C * column_bytes);  // of the next tile
      x[c] = Tail ? _mm512_maskz_loadu_epi8(bytes, from) : _mm512_loadu_si512(from);
    }
#pragma GCC unroll 8
    for (int j = 0; j < kHalves; ++j) {
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) {
        const __m512 w = _mm512_maskz_permutexvar_ps(0xffff, x[c], table);
        x[c] = _mm512_maskz_srli_epi32(0xffff, x[c], 4);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const __m512 y = _mm512_loadu_ps(a + r * t.a_row + j * 16);
          sums[r][c] = j == 0 ? _mm512_mul_ps(y, w) : _mm512_fmadd_ps(y, w, sums[r][c]);
        }
      }
    }
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      const __m512 scale = of_lanes(t.scales + c * blocks + block, some, order);
      [[maybe_unused]] const __m512 zero =
          HasZeros ? of_lanes(t.zeros + c * blocks + block, some, order) : _mm512_setzero_ps();
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        if constexpr (HasZeros)
          sums[r][c] = _mm512_fnmadd_ps(zero, _mm512_loadu_ps(a + r * t.a_row + kHalves * 16), sums[r][c]);
        total[r][c] = _mm512_fmadd_ps(sums[r][c], scale, total[r][c]);
      }
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c)
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) _mm512_storeu_ps(t.totals + c * t.column_totals + r * 16, total[r][c]);
}

using NBitsTileFn = void (*)(const NBitsTile&);

/// The tile functions by number of rows: `wide` computes several columns, `narrow` one.
template <bool HasZeros, bool Tail>
struct NBitsTiles {
  NBitsTileFn wide[kMaxRows + 1] = {}, narrow[kMaxRows + 1] = {};
  constexpr NBitsTiles() { fill<1>(); }
  template <int R>
  constexpr void fill() {
    wide[R] = nbits_tile<R, columns_of(R), HasZeros, Tail>;
    narrow[R] = nbits_tile<R, 1, HasZeros, Tail>;
    if constexpr (R < kMaxRows) fill<R + 1>();
  }
};
template <bool HasZeros, bool Tail>
constexpr NBitsTiles<HasZeros, Tail> kNBitsTiles;

NBitsTileFn nbits_tile_fn(bool zeros, bool tail, bool wide, int64_t rows) {
  const auto pick = [&](const auto& tiles) { return wide ? tiles.wide[rows] : tiles.narrow[rows]; };
  if (zeros) return tail ? pick(kNBitsTiles<true, true>) : pick(kNBitsTiles<true, false>);
  return tail ? pick(kNBitsTiles<false, true>) : pick(kNBitsTiles<false, false>);
}

/// Returns the zero points of columns as floats, or null if there are none.
const float* zeros_of(const PackedRow& column, int64_t first, int64_t count, float* room) {
  const int64_t blocks = column.count / column.block, bytes = (blocks + 1) / 2;
  if (column.zeros != nullptr) return column.zeros + first * blocks;
  if (column.packed_zeros == nullptr) return nullptr;
  for (int64_t j = 0; j < count; ++j) {
    const std::uint8_t* const packed = column.packed_zeros + (first + j) * bytes;
    for (int64_t b = 0; b < blocks; ++b) room[j * blocks + b] = static_cast<float>(packed[b / 2] >> (b % 2 * 4) & 15);
  }
  return room;
}

FRAZIL_INLINE float sum_of_lanes(const float* from) {
  float lanes[8];
  for (int i = 0; i < 8; ++i) lanes[i] = from[i] + from[i + 8];
  for (int half = 4; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

/// A range of rows of A and of columns of B. `totals` has their sums.
struct NBitsGroup {
  const NBitsProduct& p;
  const float* arranged;
  const float* zeros;  ///< zero points of the first column
  float* totals;
  int64_t col, cols, row, rows;

  void run() const {
    const int64_t steps = p.column.count / kNBitsStep;
    const int64_t near = kCachedBytes / (rows * kNBitsArranged * static_cast<int64_t>(sizeof(float)));
    for (int64_t i = 0; i < cols * rows * 16; ++i) totals[i] = 0;
    for (int64_t s = 0; s < steps;) {
      const int64_t past = s + near < steps ? s + near : steps;
      columns(s, past, false);
      s = past;
    }
    if (steps * kNBitsStep < p.column.count) columns(steps, steps + 1, true);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c)
        p.c[(row + r) * p.c_row + col + c] =
            sum_of_lanes(totals + (c * rows + r) * 16) + (p.bias != nullptr ? p.bias[col + c] : 0.0F);
  }

 private:
  void columns(int64_t begin, int64_t end, bool tail) const {
    const int64_t k = p.column.count, blocks = k / p.column.block, a_row = nbits_arranged(1, k);
    const int64_t wide = columns_of(static_cast<int>(rows));
    for (int64_t c = 0; c < cols;) {
      const bool fits = c + wide <= cols;
      const NBitsTile tile{.a = arranged + row * a_row,
                           .a_row = a_row,
                           .begin = begin,
                           .end = end,
                           .k = k,
                           .block = p.column.block,
                           .numbers = p.column.numbers + (col + c) * k / 2,
                           .scales = p.column.scales + (col + c) * blocks,
                           .zeros = zeros == nullptr ? nullptr : zeros + c * blocks,
                           .totals = totals + c * rows * 16,
                           .column_totals = rows * 16};
      nbits_tile_fn(zeros != nullptr, tail, fits, rows)(tile);
      c += fits ? wide : 1;
    }
  }
};

}  // namespace

void nbits_columns(const NBitsProduct& p, const float* arranged, int64_t begin, int64_t end, float* room) noexcept {
  float* const totals = room;
  room += kNBitsColumns * kMaxRows * 16;
  PollThrottle throttle;
  for (int64_t j = begin; j < end; j += kNBitsColumns) {
    const int64_t cols = end - j < kNBitsColumns ? end - j : kNBitsColumns;
    const float* const zeros = zeros_of(p.column, j, cols, room);
    for (int64_t i = 0; i < p.m;) {
      const int64_t left = p.m - i, tiles = (left + kMaxRows - 1) / kMaxRows, rows = (left + tiles - 1) / tiles;
      if (throttle.stop(cols * rows * p.column.count)) return;
      NBitsGroup{p, arranged, zeros, totals, j, cols, i, rows}.run();
      i += rows;
    }
  }
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
#endif
