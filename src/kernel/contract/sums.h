#pragma once

// The innermost loop of products. The sums of a tile of C stay in registers while R rows of A are multiplied with NV
// vectors of columns of B. Private to translation units of one instruction set, like math_lanes.h. A policy E defines
// the multiplication:
//
//   Raw, Part, Sum        a vector of columns as it is loaded, the factors in it, and its sums
//   kParts                number of parts of a Raw, each multiplied with a word of a row of A
//   get(b, v)             loads vector v of a step of a panel
//   part(raw, i)          returns part i
//   word(a)               returns the word at a, as a factor
//   add(sum, part, word)  adds a product to a sum
//   merge(sum, other)     adds one exact sum to another
//   Words<R, bool>        a word of each of R rows, `step` bytes apart in memory, or adjacent if true. Has word(r) and
//                         add(sum, part, word, r)

#include <type_traits>

#include "kernel/contract/product.h"
#include "kernel/simd/f32_lanes.h"
#include "kernel/simd/prefetch.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

constexpr int kPanelVectors = static_cast<int>(kPanelCols) / kW;
constexpr int64_t kWord = 4;              ///< bytes of a word
constexpr int64_t kLine = 64;             ///< bytes of a cache line
constexpr int64_t kPrefetchInterval = 4;  ///< steps between prefetches

/// Words of rows, loaded one by one.
template <class E>
struct SingleWords {
  const std::byte* at;
  int64_t row;
  FRAZIL_INLINE SingleWords(const std::byte* a, int64_t step) : at(a), row(step) {}
  FRAZIL_INLINE auto word(int r) const { return E::word(at + r * row); }
  FRAZIL_INLINE void add(auto& sum, auto part, auto word, int) const { E::add(sum, part, word); }
};

/// The ways in which a tile reads A.
enum class Reads : std::uint8_t {
  packed,  ///< the words of all rows for a step are adjacent, then those of the next step
  rows,    ///< words of a row are adjacent, rows are `a_row` bytes apart
  runs,    ///< words of a row are adjacent after a pointer for each row and tap
  even,    ///< like runs, with rows `a_row` bytes apart: only the first row's pointers are read
};

/// The operands of a tile.
struct TileOperands {
  int64_t steps = 0;  ///< steps of a tap
  const std::byte* a = nullptr;
  int64_t a_row = kWord, a_step = kWord;  ///< bytes; a_step: from a word to the next one of the row
  const std::byte* const* at = nullptr;   ///< runs: [row][tap], rows `taps` pointers apart
  int64_t taps = 1;
  const std::byte* b = nullptr;              ///< the first vector
  int64_t b_step = 0, b_panel = 0;           ///< bytes from one step to the next, from one panel to the next
  const std::byte* prefetch_from = nullptr;  ///< address to prefetch, which is read next; null: none
  int64_t prefetch_line_count = 0;
};

/// Adds the products of a step to `sums`: vectors of B from `b` on, times words(part).
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
    for (int r = 0; r < R; ++r) {
      const auto word = factors.word(r);
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) factors.add(sums[r][v], part[v], word, r);
    }
  }
}

/// Additional sums, which are added to the others at the end, because a few sums alone do not hide the latency of a
/// product. For exact sums only.
template <class E, int R, int NV, int Chains>
struct MoreSums {
  typename E::Sum at[Chains > 0 ? Chains : 1][R][NV] = {};
  FRAZIL_INLINE void add_to(typename E::Sum (&sums)[R][NV]) const {
    if constexpr (Chains > 0) {
#pragma GCC unroll 4
      for (int s = 0; s < Chains; ++s)
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
          for (int v = 0; v < NV; ++v) E::merge(sums[r][v], at[s][r][v]);
    }
  }
};
/// Runs steps [i, steps), in turn for each chain; the remaining ones run for chain 0.
template <int Chains>
FRAZIL_INLINE void in_chains(int64_t i, int64_t steps, auto step) {
  if constexpr (Chains > 1) {
    for (; i + Chains <= steps; i += Chains) {
      step(std::integral_constant<int, 0>());
      step(std::integral_constant<int, 1>());
      if constexpr (Chains == 4) step(std::integral_constant<int, 2>()), step(std::integral_constant<int, 3>());
    }
  }
#pragma GCC unroll 2
  for (; i < steps; ++i) step(std::integral_constant<int, 0>());
}

/// Runs all steps, for an A that is packed or read in rows.
template <class E, int R, int NV, bool Packed, bool Tail, int Chains = 1>
FRAZIL_INLINE void sum_rows(const TileOperands& t, Mask mask, typename E::Sum (&sums)[R][NV]) {
  const int64_t a_row = Packed ? kWord : t.a_row, a_step = Packed ? t.a_step : kWord;
  const int64_t panel = NV > kPanelVectors ? t.b_panel : 0, b_step = t.b_step;
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  MoreSums<E, R, NV, Chains - 1> more;
  const auto get = [&](const std::byte* from, int v, int all) __attribute__((always_inline)) {
    if constexpr (Tail) {
      if (all == NV - 1) return E::get(from, v, mask);
    }
    return E::get(from, v);
  };
  const auto step = [&](auto chain) __attribute__((always_inline)) {
    const auto words = [&](int i) __attribute__((always_inline)) {
      return typename E::template Words<R, Packed>(a + i * a_step, a_row);
    };
    if constexpr (chain == 0) {
      add_step<E>(sums, b, panel, get, words);
    } else {
      add_step<E>(more.at[chain - 1], b, panel, get, words);
    }
    a += E::kParts * a_step;
    b += b_step;
    asm volatile("" : "+r"(a));  // else loads of later steps come first, and take the registers of the sums
  };
  int64_t i = 0;
  if (t.prefetch_from != nullptr) {
    const std::byte* ahead = t.prefetch_from;
    const std::byte* const end = ahead + t.prefetch_line_count * kLine;
    const int64_t each = ceil_div(t.prefetch_line_count * kPrefetchInterval, max64(1, t.steps));
    for (; i + kPrefetchInterval <= t.steps; i += kPrefetchInterval) {
      if (ahead < end) ahead = prefetch_lines(ahead, each);
#pragma GCC unroll 4
      for (int64_t s = 0; s < kPrefetchInterval; ++s) step(std::integral_constant<int, 0>());
    }
  }
  in_chains<Chains>(i, t.steps, step);
  more.add_to(sums);
}

/// Words of rows that have a pointer each.
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
  FRAZIL_INLINE auto word(int r) const { return E::word(at[r] + place); }
  FRAZIL_INLINE void add(typename E::Sum& sum, typename E::Part part, auto word, int) const { E::add(sum, part, word); }
};

/// Words of rows `row` bytes apart.
template <class E>
struct EvenWords {
  const std::byte* at;
  int64_t row;
  FRAZIL_INLINE EvenWords(const TileOperands& t, int64_t tap) : at(t.at[tap]), row(t.a_row) {}
  FRAZIL_INLINE void next() {
    at += kWord;
    asm volatile("" : "+r"(at));  // else GCC keeps a pointer for each row, for which there are no registers
  }
  FRAZIL_INLINE auto word(int r) const { return E::word(at + r * row); }
  FRAZIL_INLINE void add(typename E::Sum& sum, typename E::Part part, auto word, int) const { E::add(sum, part, word); }
};

/// Runs all steps, for an A that is read in runs; E::kParts is 1.
template <class E, int R, int NV, class Words, int Chains = 1>
FRAZIL_INLINE void sum_runs(const TileOperands& t, typename E::Sum (&sums)[R][NV]) {
  const std::byte *b = t.b, *ahead = t.prefetch_from;
  const int64_t lines = ceil_div(t.prefetch_line_count, t.taps), b_step = t.b_step;
  MoreSums<E, R, NV, Chains - 1> more;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    Words words(t, tap);
    for (int64_t i = 0; i < lines && ahead != nullptr; ++i) __builtin_prefetch(ahead + i * kLine, 0, 2);
    if (ahead != nullptr) ahead += lines * kLine;
    const auto get = [](const std::byte* from, int v, int) __attribute__((always_inline)) { return E::get(from, v); };
    const auto same = [&](int) __attribute__((always_inline)) -> const Words& { return words; };
    in_chains<Chains>(0, t.steps, [&](auto chain) __attribute__((always_inline)) {
      if constexpr (chain == 0) {
        add_step<E>(sums, b, 0, get, same);
      } else {
        add_step<E>(more.at[chain - 1], b, 0, get, same);
      }
      words.next();
      b += b_step;
    });
  }
  more.add_to(sums);
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
