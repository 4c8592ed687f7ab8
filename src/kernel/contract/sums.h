#pragma once

// The innermost loop of products: the sums of a tile of C stay in registers while R rows of A meet NV vectors of
// columns of B. For translation units of one instruction set, as math_lanes.h. What is multiplied, and how, is a policy
// E:
//
//   Raw, Part, Sum    a vector of columns as it is loaded, the factors in it, and its sums
//   kParts            parts of what is loaded, each of which meets a word of a row of A
//   get(b, v)         vector v of a step of a panel
//   part(raw, i)
//   Words<R, bool>    a word of each of R rows, in memory `step` bytes apart or, if true, side by side; add(sum, part,
//   r)

#include "kernel/contract/product.h"
#include "kernel/simd/f32_lanes.h"
#include "kernel/simd/nearer.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

constexpr int kPanelVectors = static_cast<int>(kPanelCols) / kW;
constexpr int64_t kWord = 4;        ///< bytes of a word
constexpr int64_t kLine = 64;       ///< bytes of a cache line
constexpr int64_t kAheadSteps = 4;  ///< between prefetches

/// How a tile reads A.
enum class Reads : std::uint8_t {
  packed,  ///< words of rows side by side, steps behind each other
  rows,    ///< words of steps side by side, rows `a_row` bytes apart
  runs,    ///< words of steps side by side behind a pointer for each row and tap
  even,    ///< the same where rows are `a_row` bytes apart: only the first row's pointers are read
};

/// What a tile multiplies.
struct TileOperands {
  int64_t steps = 0;  ///< of a tap
  const std::byte* a = nullptr;
  int64_t a_row = kWord, a_step = kWord;  ///< bytes; a_step: from a word to the next one of the row
  const std::byte* const* at = nullptr;   ///< runs: [row][tap], rows `taps` pointers apart
  int64_t taps = 1;
  const std::byte* b = nullptr;      ///< of the first vector
  int64_t b_step = 0, b_panel = 0;   ///< bytes from a step to the next, from a panel to the next
  const std::byte* ahead = nullptr;  ///< what is read next, brought nearer; null: nothing
  int64_t ahead_lines = 0;
};

/// The products of a step: vectors of B from `b` on, and words.at(part).
template <class E, int R, int NV>
FRAZIL_INLINE void add_step(typename E::Sum (&sums)[R][NV], const std::byte* b, int64_t panel, auto get, auto words) {
  typename E::Raw raw[NV];
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) raw[v] = get(b + v / kPanelVectors * panel, v % kPanelVectors, v);
#pragma GCC unroll 2
  for (int i = 0; i < E::kParts; ++i) {
    typename E::Part part[NV];
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) part[v] = E::part(raw[v], i);
    const auto& factors = words(i);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) factors.add(sums[r][v], part[v], r);
  }
}

/// All steps, of A that is packed or read in rows.
template <class E, int R, int NV, bool Packed, bool Tail>
FRAZIL_INLINE void sum_rows(const TileOperands& t, Mask mask, typename E::Sum (&sums)[R][NV]) {
  const int64_t a_row = Packed ? kWord : t.a_row, a_step = Packed ? t.a_step : kWord;
  const int64_t panel = NV > kPanelVectors ? t.b_panel : 0, b_step = t.b_step;
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  const auto get = [&](const std::byte* from, int v, int all) __attribute__((always_inline)) {
    if constexpr (Tail) {
      if (all == NV - 1) return E::get(from, v, mask);
    }
    return E::get(from, v);
  };
  const auto step = [&] __attribute__((always_inline)) {
    add_step<E>(sums, b, panel, get, [&](int i) __attribute__((always_inline)) {
      return typename E::template Words<R, Packed>(a + i * a_step, a_row);
    });
    a += E::kParts * a_step;
    b += b_step;
    asm volatile("" : "+r"(a));  // else the loads of later steps come first, and take the registers of the sums
  };
  int64_t i = 0;
  if (t.ahead != nullptr) {
    const std::byte* ahead = t.ahead;
    const std::byte* const end = ahead + t.ahead_lines * kLine;
    const int64_t each = ceil_div(t.ahead_lines * kAheadSteps, max64(1, t.steps));
    for (; i + kAheadSteps <= t.steps; i += kAheadSteps) {
      if (ahead < end) ahead = bring_nearer(ahead, each);
#pragma GCC unroll 4
      for (int64_t s = 0; s < kAheadSteps; ++s) step();
    }
  }
  for (; i < t.steps; ++i) step();
}

/// Words of rows behind pointers of their own.
template <class E, int R>
struct RunWords {
  const std::byte* at[R];
  int64_t place = 0;
  FRAZIL_INLINE RunWords(const TileOperands& t, int64_t tap) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) at[r] = t.at[r * t.taps + tap];
  }
  FRAZIL_INLINE void next() {
    place += kWord;
    asm volatile("" : "+r"(place));
  }
  FRAZIL_INLINE void add(typename E::Sum& sum, typename E::Part part, int r) const { E::add(sum, part, at[r] + place); }
};

/// Words of rows `row` bytes apart.
template <class E>
struct EvenWords {
  const std::byte* at;
  int64_t row;
  FRAZIL_INLINE EvenWords(const TileOperands& t, int64_t tap) : at(t.at[tap]), row(t.a_row) {}
  FRAZIL_INLINE void next() {
    at += kWord;
    asm volatile("" : "+r"(at));  // else there is a pointer for each row, for which there are no registers
  }
  FRAZIL_INLINE void add(typename E::Sum& sum, typename E::Part part, int r) const { E::add(sum, part, at + r * row); }
};

/// The same of A that is read in runs; E::kParts is 1.
template <class E, int R, int NV, class Words>
FRAZIL_INLINE void sum_runs(const TileOperands& t, typename E::Sum (&sums)[R][NV]) {
  const std::byte *b = t.b, *ahead = t.ahead;
  const int64_t lines = ceil_div(t.ahead_lines, t.taps), b_step = t.b_step;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    Words words(t, tap);
    for (int64_t i = 0; i < lines && ahead != nullptr; ++i) __builtin_prefetch(ahead + i * kLine, 0, 2);
    if (ahead != nullptr) ahead += lines * kLine;
#pragma GCC unroll 2
    for (int64_t i = 0; i < t.steps; ++i, b += b_step) {
      add_step<E>(
          sums, b, 0, [](const std::byte* from, int v, int) __attribute__((always_inline)) { return E::get(from, v); },
          [&](int) __attribute__((always_inline)) -> const Words& { return words; });
      words.next();
    }
  }
}

/// Rows cut into tiles of nearly equal height.
struct RowCut {
  int64_t begin, rows, tiles;
  RowCut(int64_t first, int64_t past, int64_t most) : begin(first), rows(past - first), tiles(ceil_div(rows, most)) {}
  int64_t row(int64_t tile) const { return begin + tile * rows / tiles; }
  int64_t highest() const { return ceil_div(rows, tiles); }
};

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS
