// Products of 16-bit floats.
//
// B stays as it is packed, and becomes f32 in registers; A becomes f32 where it is packed. With AVX-512 BF16, pairs of
// both are multiplied as they lie. Every element of C is one chain over k, so that its bits do not depend on how rows
// are split: cutting k into blocks that stay in the first-level cache makes nothing faster.

#include "kernel/contract/gemm_16.simd.h"

#include "base/poll_throttle.h"
#include "kernel/contract/gemm.h"
#include "kernel/simd/half_lanes.h"
#include "kernel/simd/nearer.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

#if defined(__AVX512F__)
constexpr int kTileRows = 12, kTileVectors = 2;
constexpr int kFewVectors = 4;  ///< of a tile of few rows
#elif defined(FRAZIL_NEON)
constexpr int kTileRows = 8, kTileVectors = 2;
constexpr int kFewVectors = 4;
#else
constexpr int kTileRows = 4, kTileVectors = 2;
constexpr int kFewVectors = 2;
#endif
static_assert(kTileRows <= kHalfTileRows);
constexpr int kPanelVectors = static_cast<int>(kHalfCols) / kW;
constexpr int64_t kMostRunCols = 128;                ///< of C, up to which packing pixels does not pay
constexpr int64_t kNearElements = int64_t{1} << 17;  ///< of C that stay in a cache until a callback has seen them
constexpr int64_t kNearRows = 4 * kTileRows;         ///< but no fewer rows
constexpr int64_t kWord = 4;                         ///< bytes of an element of packed A: an f32, or a pair

FRAZIL_INLINE U32v same_word(const std::byte* p) {
  std::uint32_t x;
  __builtin_memcpy(&x, p, sizeof x);
  return x + U32v{};
}

// How B is multiplied. A step reads kHalves words of each row of A, and 32 words or half-words of B.

/// f16, widened.
struct WideF16 {
  using Number = F16;
  [[maybe_unused]] static constexpr int kHalves = 1, kRow = static_cast<int>(kHalfCols);  ///< elements of B in a step
  [[maybe_unused]] static constexpr bool kPairs = false;
  using Raw = F32v;
  FRAZIL_INLINE static Raw get(const std::uint16_t* b, int v) { return F16::widened(load_halves(b + v * kW)); }
  FRAZIL_INLINE static F32v part(Raw raw, int) { return raw; }
  FRAZIL_INLINE static void add(F32v& sum, F32v b, U32v a) { sum = mul_add((F32v)a, b, sum); }
  FRAZIL_INLINE static U16h of_sum(F32v x) { return Number::narrowed(x); }
};

/// bf16, widened: the first elements of pairs, then the second ones.
struct WideBf16 {
  using Number = Bf16;
  [[maybe_unused]] static constexpr int kHalves = 2, kRow = 2 * static_cast<int>(kHalfCols);
  [[maybe_unused]] static constexpr bool kPairs = false;
  using Raw = U32v;
  FRAZIL_INLINE static Raw get(const std::uint16_t* b, int v) { return load<U32v>(b + 2 * v * kW); }
  FRAZIL_INLINE static F32v part(Raw raw, int half) { return (F32v)(half == 0 ? raw << 16 : raw & 0xffff0000u); }
  FRAZIL_INLINE static void add(F32v& sum, F32v b, U32v a) { sum = mul_add((F32v)a, b, sum); }
  FRAZIL_INLINE static U16h of_sum(F32v x) { return Number::narrowed(x); }
};

#if defined(__AVX512BF16__)
struct PairBf16 {
  using Number = Bf16;
  static constexpr int kHalves = 1, kRow = 2 * static_cast<int>(kHalfCols);
  static constexpr bool kPairs = true;
  using Raw = U32v;
  FRAZIL_INLINE static Raw get(const std::uint16_t* b, int v) { return load<U32v>(b + 2 * v * kW); }
  FRAZIL_INLINE static F32v part(Raw raw, int) { return (F32v)raw; }
  FRAZIL_INLINE static void add(F32v& sum, F32v b, U32v a) {
    sum = (F32v)_mm512_dpbf16_ps((__m512)sum, (__m512bh)b, (__m512bh)a);
  }
  /// Denormal numbers become zero, as they do in sums.
  FRAZIL_INLINE static U16h of_sum(F32v x) { return (U16h)_mm512_cvtneps_pbh((__m512)x); }
};
#endif

constexpr int64_t kLineHalves = 32, kAheadSteps = 4;  ///< a cache line; steps between prefetches

/// A tile of C.
struct HalfTile {
  int64_t steps;
  const std::byte* a;
  int64_t a_row;  ///< bytes, of rows that are not packed
  const std::uint16_t* b;
  int64_t b_panel;                    ///< elements
  const std::byte* last_a = nullptr;  ///< pairs that are not packed: the last element of each row, if k is odd
  int64_t last_row = 0;
  const HalfProduct* g;
  bool plain;                            ///< sums are rounded, and nothing else
  int64_t row, col, cols;                ///< of C
  const std::uint16_t* ahead = nullptr;  ///< what is read next, brought nearer; null: nothing
  int64_t ahead_lines = 0;
  const std::uint16_t* const* at = nullptr;  ///< runs, [row][tap], of `steps` each
  int64_t taps = 1;
};

/// What happens to the sums of a vector of columns, of which `n` exist.
template <class E>
class Finish {
 public:
  FRAZIL_INLINE Finish(const HalfProduct& g, int64_t col, int64_t n) : g_(g), col_(col), n_(n) {
    if (g.bias != nullptr) bias_ = get(g.bias + col);
    if (g.scale != nullptr) scale_ = wide(g.scale + col), shift_ = wide(g.shift + col);
  }

  /// Of row `row` of C.
  FRAZIL_INLINE void put(F32v x, int64_t row) const {
    if (g_.wide) {
      float* const to = static_cast<float*>(g_.c) + row * g_.c_row + col_;
      return n_ >= kW ? storev(to, x) : store_mask(to, x, first_lanes(n_));
    }
    const U16h y = value(x, row);
    auto* const to = static_cast<std::uint16_t*>(g_.c) + row * g_.c_row + col_;
    n_ >= kW ? store_halves(to, y) : store_halves(to, y, n_);
  }

 private:
  using N = typename E::Number;

  FRAZIL_INLINE U16h value(F32v x, int64_t row) const {
    if (g_.bias != nullptr && g_.bias_in_sum) x += bias_;
    U16h y = E::of_sum(x);
    if (g_.scale != nullptr) y = N::narrowed(N::widened(y) * scale_ + shift_);
    if (g_.bias != nullptr && !g_.bias_in_sum) y = N::narrowed(N::widened(y) + bias_);
    if (g_.addend != nullptr) y = N::narrowed(N::widened(y) + get(g_.addend + row * g_.addend_row + col_));
    if (g_.slope != 1) y = N::narrowed(bent(N::widened(y), g_.slope));
    return y;
  }
  FRAZIL_INLINE F32v get(const std::uint16_t* p) const {
    return N::widened(n_ >= kW ? load_halves(p) : load_halves(p, n_));
  }
  FRAZIL_INLINE F32v wide(const float* p) const { return n_ >= kW ? loadv(p) : load_mask(p, first_lanes(n_)); }

  const HalfProduct& g_;
  int64_t col_, n_;
  F32v bias_{}, scale_{}, shift_{};
};

/// Writes a tile of C from its sums, of NV vectors a row.
template <class E, int NV>
[[gnu::noinline]] void put_tile(const HalfTile& t, const float* sums, int rows) {
  for (int v = 0; v < NV && v * kW < t.cols; ++v) {
    const Finish<E> finish(*t.g, t.col + v * kW, t.cols - v * kW);
    for (int r = 0; r < rows; ++r) finish.put(loadv(sums + (r * NV + v) * kW), t.row + r);
  }
}

template <class E, int R, int NV>
FRAZIL_INLINE void put_sums(const HalfTile& t, const F32v (&acc)[R][NV]) {
  if (t.plain && t.cols == NV * kW) {
    auto* const c = static_cast<std::uint16_t*>(t.g->c) + t.row * t.g->c_row + t.col;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) store_halves(c + r * t.g->c_row + v * kW, E::of_sum(acc[r][v]));
    return;
  }
  float sums[R * NV * kW];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) storev(sums + (r * NV + v) * kW, acc[r][v]);
  put_tile<E, NV>(t, sums, R);
}

/// The products of a step: `word(r, half)` is of A, `place(v)` is where the panel of vector v is.
template <class E, int R, int NV>
FRAZIL_INLINE void add_products(F32v (&acc)[R][NV], auto place, auto word) {
  typename E::Raw raw[NV];
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) raw[v] = E::get(place(v), v % kPanelVectors);
#pragma GCC unroll 2
  for (int half = 0; half < E::kHalves; ++half) {
    F32v bv[NV];
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) bv[v] = E::part(raw[v], half);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const U32v x = word(r, half);
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) E::add(acc[r][v], bv[v], x);
    }
  }
}

/// How a tile reads A: packed; or pairs where they lie, in rows or in runs.
enum class Reads : std::uint8_t { packed, rows, runs };

template <class E, int R, int NV, bool Packed>
void half_tile(const HalfTile& t) {
  F32v acc[R][NV] = {};
  const int64_t a_row = Packed ? kWord : t.a_row, a_step = Packed ? R * kWord : kWord;
  const int64_t panel = NV > kPanelVectors ? t.b_panel : 0;
  const std::byte* a = t.a;
  const std::uint16_t* b = t.b;
  const auto place = [&](int v) __attribute__((always_inline)) { return b + v / kPanelVectors * panel; };
  const auto step = [&] __attribute__((always_inline)) {
    add_products<E>(acc, place, [&](int r, int half) __attribute__((always_inline)) {
      return same_word(a + r * a_row + half * a_step);
    });
    a += E::kHalves * a_step;
    b += E::kRow;
  };
  int64_t i = 0;
  if (t.ahead != nullptr) {
    const std::uint16_t* ahead = t.ahead;
    const std::uint16_t* const end = ahead + t.ahead_lines * kLineHalves;
    const int64_t each = ceil_div(t.ahead_lines * kAheadSteps, max64(1, t.steps));
    for (; i + kAheadSteps <= t.steps; i += kAheadSteps) {
      if (ahead < end) ahead = bring_nearer(ahead, each);
#pragma GCC unroll 4
      for (int64_t s = 0; s < kAheadSteps; ++s) step();
    }
  }
  for (; i < t.steps; ++i) step();
  if constexpr (!Packed) {
    if (t.last_a != nullptr) {
      add_products<E>(acc, place, [&](int r, int) __attribute__((always_inline)) {
        return load<std::uint16_t>(t.last_a + r * t.last_row) + U32v{};
      });
    }
  }
  put_sums<E>(t, acc);
}

/// The same for pairs in runs.
template <class E, int R, int NV>
void run_tile(const HalfTile& t) {
  F32v acc[R][NV] = {};
  const std::uint16_t *b = t.b, *ahead = t.ahead;
  const int64_t lines = ceil_div(t.ahead_lines, t.taps);
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const std::byte* a[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) a[r] = reinterpret_cast<const std::byte*>(t.at[r * t.taps + tap]);
    for (int64_t i = 0; i < lines && ahead != nullptr; ++i) __builtin_prefetch(ahead + i * kLineHalves, 0, 2);
    if (ahead != nullptr) ahead += lines * kLineHalves;
#pragma GCC unroll 2
    for (int64_t i = 0; i < t.steps * kWord; i += kWord, b += E::kRow) {
      add_products<E>(
          acc, [&](int) __attribute__((always_inline)) { return b; },
          [&](int r, int) __attribute__((always_inline)) { return same_word(a[r] + i); });
    }
  }
  put_sums<E>(t, acc);
}

using HalfTileFn = void (*)(const HalfTile&);

/// Tiles by their number of rows.
template <class E, int NV, Reads reads, int Most>
struct HalfTiles {
  HalfTileFn at[Most + 1] = {};
  constexpr HalfTiles() { fill<1>(); }
  template <int R>
  constexpr void fill() {
    if constexpr (reads == Reads::runs)
      at[R] = run_tile<E, R, NV>;
    else
      at[R] = half_tile < E, R, NV, reads == Reads::packed > ;
    if constexpr (R < Most) fill<R + 1>();
  }
};
template <class E, Reads reads>
constexpr HalfTiles<E, kTileVectors, reads, kTileRows> kHalfTiles;
template <class E, Reads reads>
constexpr HalfTiles<E, kFewVectors, reads, static_cast<int>(kHalfFewRows)> kFewTiles;

// ---- A ----

/// 16-bit numbers at `from`, `step` apart, to words `rows` apart: pairs, or numbers as f32.
template <class E>
void pack_row(const std::uint16_t* from, int64_t step, int64_t n, std::byte* to, int64_t rows) {
  const int64_t next = rows * kWord;
  const auto at = [&](int64_t p) __attribute__((always_inline)) { return load<std::uint16_t>(from + p * step); };
  if constexpr (E::kPairs) {
    for (int64_t p = 0; p < n; p += 2, to += next) {
      const std::uint32_t second = p + 1 < n ? at(p + 1) : 0;
      store<std::uint32_t>(to, at(p) | second << 16);
    }
    return;
  }
  int64_t p = 0;
  for (; p < n; p += kW) {
    const int64_t some = min64(kW, n - p);
    std::uint16_t halves[kW] = {};
    float wide[kW];
    for (int64_t i = 0; i < some && step != 1; ++i) halves[i] = at(p + i);
    const U16h x = step != 1 ? load_halves(halves) : some == kW ? load_halves(from + p) : load_halves(from + p, some);
    storev(wide, E::Number::widened(x));
    for (int64_t i = 0; i < some; ++i, to += next) store(to, wide[i]);
  }
  if (E::kHalves == 2 && n % 2 != 0) store(to, 0.f);
}

using U32x4 = std::uint32_t __attribute__((vector_size(16)));

/// Four rows of four words, turned.
FRAZIL_INLINE void turn_words(U32x4 a, U32x4 b, U32x4 c, U32x4 d, std::byte* to, int64_t next) {
  const U32x4 ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const U32x4 cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  store(to, __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
  store(to + next, __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
  store(to + 2 * next, __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
  store(to + 3 * next, __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
}

/// Four adjacent rows, whose elements lie side by side.
template <class E>
void pack_four_rows(const std::uint16_t* const (&from)[4], int64_t n, std::byte* to, int64_t rows) {
  const int64_t next = rows * kWord;
  int64_t p = 0;
  if constexpr (E::kPairs) {
    for (; p + 8 <= n; p += 8, to += 4 * next)
      turn_words(load<U32x4>(from[0] + p), load<U32x4>(from[1] + p), load<U32x4>(from[2] + p), load<U32x4>(from[3] + p),
                 to, next);
  } else {
    for (; p + kW <= n; p += kW) {
      float wide[4][kW];
      for (int r = 0; r < 4; ++r) storev(wide[r], E::Number::widened(load_halves(from[r] + p)));
      for (int i = 0; i < kW; i += 4, to += 4 * next)
        turn_words(load<U32x4>(wide[0] + i), load<U32x4>(wide[1] + i), load<U32x4>(wide[2] + i),
                   load<U32x4>(wide[3] + i), to, next);
    }
  }
  for (int r = 0; r < 4; ++r) pack_row<E>(from[r] + p, 1, n - p, to + r * kWord, rows);
}

/// Words of a row of packed A.
template <class E>
FRAZIL_INLINE int64_t row_words(int64_t k) {
  return E::kPairs ? half_pairs(k) : E::kHalves == 2 ? 2 * half_pairs(k) : k;
}

/// Rows cut into tiles of nearly equal height.
struct HalfCut {
  int64_t begin, rows, tiles;
  HalfCut(int64_t first, int64_t past, int64_t most) : begin(first), rows(past - first), tiles(ceil_div(rows, most)) {}
  int64_t row(int64_t tile) const { return begin + tile * rows / tiles; }
};

template <class E>
class RowsOfA {
 public:
  RowsOfA(const HalfProduct& g, const HalfScratch& s) : g_(g), s_(s) {}

  /// Packs a tile's rows.
  void pack(int64_t first, int64_t rows, std::byte* to) const {
    const int64_t taps = g_.runs.taps, depth = g_.runs.depth;
    const bool runs = g_.runs.point != nullptr;
    const bool by_taps = runs && depth % kStep == 0;
    const std::uint16_t* from[kHalfTileRows];
    if (by_taps) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t r = 0; r < rows; ++r) from[r] = s_.at[(first - block_ + r) * taps + tap];
        pack_rows(from, 1, rows, depth, to + tap * rows * row_words<E>(depth) * kWord);
      }
      return;
    }
    for (int64_t r = 0; r < rows; ++r) from[r] = runs ? gathered(first + r, r) : g_.a + (first + r) * g_.a_row;
    pack_rows(from, runs ? 1 : g_.a_col, rows, g_.k, to);
  }

  /// Before rows [first, past) are packed.
  void begin(int64_t first, int64_t past) {
    block_ = first;
    if (g_.runs.point != nullptr) g_.runs.point(g_.runs.context, first, past, s_.at);
  }

 private:
  static constexpr int64_t kStep = 2 * kW;  ///< elements whose words fill vectors

  void pack_rows(const std::uint16_t* const* from, int64_t step, int64_t rows, int64_t n, std::byte* to) const {
    int64_t r = 0;
    for (; step == 1 && r + 4 <= rows; r += 4) {
      const std::uint16_t* const four[4] = {from[r], from[r + 1], from[r + 2], from[r + 3]};
      pack_four_rows<E>(four, n, to + r * kWord, rows);
    }
    for (; r < rows; ++r) pack_row<E>(from[r], step, n, to + r * kWord, rows);
  }

  const std::uint16_t* gathered(int64_t row, int64_t place) const {
    std::uint16_t* const to = s_.row + place * g_.k;
    const int64_t taps = g_.runs.taps, depth = g_.runs.depth;
    const std::uint16_t* const* at = s_.at + (row - block_) * taps;
    for (int64_t t = 0; t < taps; ++t)
      __builtin_memcpy(to + t * depth, at[t], static_cast<std::size_t>(depth) * sizeof *to);
    return to;
  }

  const HalfProduct& g_;
  const HalfScratch& s_;
  int64_t block_ = 0;
};

// ---- products ----

/// Adjacent pairs of A may be read where they lie.
template <class E>
bool has_pairs(const HalfProduct& g) {
  return E::kPairs && (g.runs.point == nullptr ? g.a_col == 1 : g.runs.depth % 2 == 0);
}

bool is_plain(const HalfProduct& g) {
  return !g.wide && g.bias == nullptr && g.addend == nullptr && g.scale == nullptr && g.slope == 1;
}

/// Columns from `col` on of a tile of rows [row, row + rows), over all of k.
template <class E, int NV>
void tile_in_one(const HalfProduct& g, const auto& tiles, int64_t row, int64_t rows, int64_t col, bool in_place,
                 const std::byte* packed, const std::uint16_t* b) {
  HalfTile t;
  t.b_panel = half_panel(g.elem, g.k);
  t.b = b + col / kHalfCols * t.b_panel + col % kHalfCols * (E::kRow / kHalfCols);
  t.g = &g, t.row = row, t.col = col, t.cols = min64(NV * kW, g.n - col);
  t.plain = is_plain(g);
  t.a_row = 2 * g.a_row;
  t.steps = E::kRow == kHalfCols ? g.k : half_pairs(g.k);
  t.a = packed;
  if (in_place) {
    t.a = reinterpret_cast<const std::byte*>(g.a + row * g.a_row);
    t.steps = g.k / 2;
    if (g.k % 2 != 0) t.last_a = t.a + 2 * (g.k - 1), t.last_row = t.a_row;
  }
  tiles.at[rows](t);
}

/// Few rows: B is read once, some panels side by side.
template <class E>
void few_rows(const HalfProduct& g, int64_t begin, int64_t end, const HalfScratch& s) {
  const auto* const b = static_cast<const std::uint16_t*>(g.packed_b);
  const bool in_place = has_pairs<E>(g) && g.runs.point == nullptr;
  RowsOfA<E> a(g, s);
  if (!in_place) a.begin(begin, end), a.pack(begin, end - begin, s.a);
  PollThrottle throttle;
  int64_t col = 0;
  const int64_t rows = end - begin;
  for (; g.n - col > (kFewVectors - 1) * kW && !throttle.stop(kFewVectors * kW * g.k); col += kFewVectors * kW) {
    if constexpr (E::kPairs) {
      if (in_place) {
        tile_in_one<E, kFewVectors>(g, kFewTiles<E, Reads::rows>, begin, rows, col, true, s.a, b);
        continue;
      }
    }
    tile_in_one<E, kFewVectors>(g, kFewTiles<E, Reads::packed>, begin, rows, col, false, s.a, b);
  }
  for (; col < g.n; col += kTileVectors * kW) {
    if constexpr (E::kPairs) {
      if (in_place) {
        tile_in_one<E, kTileVectors>(g, kHalfTiles<E, Reads::rows>, begin, rows, col, true, s.a, b);
        continue;
      }
    }
    tile_in_one<E, kTileVectors>(g, kHalfTiles<E, Reads::packed>, begin, rows, col, false, s.a, b);
  }
}

/// Tells of columns [from, to) of a block of rows.
void report(const HalfProduct& g, const HalfCut& cut, int64_t from, int64_t to) {
  (*g.on_tile)(cut.begin, cut.begin + cut.rows, g.first_col + from, g.first_col + to);
}

/// One block of rows, panel after panel. Each tile brings a part of what is read next nearer.
template <class E>
void block_of_rows(const HalfProduct& g, const HalfCut& cut, const HalfScratch& s, Reads reads) {
  constexpr int64_t kParts = kPanelVectors / kTileVectors;  ///< tiles side by side in a panel
  const auto* panel = static_cast<const std::uint16_t*>(g.packed_b);
  const int64_t panel_size = half_panel(g.elem, g.k), words = row_words<E>(g.k);
  const int64_t lines = ceil_div(panel_size / kLineHalves, cut.tiles * kParts);
  HalfTile t;
  t.b_panel = panel_size;
  t.g = &g;
  t.plain = is_plain(g);
  t.steps = reads == Reads::rows   ? g.k / 2
            : reads == Reads::runs ? g.runs.depth / 2
            : E::kRow == kHalfCols ? g.k
                                   : half_pairs(g.k);
  t.taps = g.runs.taps;
  t.a_row = t.last_row = 2 * g.a_row;
  t.ahead_lines = lines;
  const bool by_columns = g.on_tile != nullptr && !g.on_tile->whole_rows;
  int64_t reported = 0;
  for (int64_t col = 0; col < g.n; col += kHalfCols, panel += panel_size) {
    if (stop_requested()) return;
    if (by_columns && (col - reported) * cut.rows >= kNearElements) report(g, cut, reported, col), reported = col;
    const std::uint16_t* ahead = col + kHalfCols < g.n ? panel + panel_size : nullptr;
    for (int64_t v = 0; v < kPanelVectors && col + v * kW < g.n; v += kTileVectors) {
      t.b = panel + v * kW * (E::kRow / kHalfCols);
      t.col = col + v * kW, t.cols = min64(kTileVectors * kW, g.n - t.col);
      for (int64_t i = 0; i < cut.tiles; ++i) {
        const int64_t rows = cut.row(i + 1) - cut.row(i);
        t.row = cut.row(i);
        t.ahead = ahead;
        if (ahead != nullptr) ahead += lines * kLineHalves;
        if (reads == Reads::packed) {
          t.a = s.a + (t.row - cut.begin) * words * kWord;
          kHalfTiles<E, Reads::packed>.at[rows](t);
          continue;
        }
        if constexpr (E::kPairs) {
          if (reads == Reads::runs) {
            t.at = s.at + (t.row - cut.begin) * g.runs.taps;
            kHalfTiles<E, Reads::runs>.at[rows](t);
            continue;
          }
          t.a = reinterpret_cast<const std::byte*>(g.a + t.row * g.a_row);
          if (g.k % 2 != 0) t.last_a = t.a + 2 * (g.k - 1);
          kHalfTiles<E, Reads::rows>.at[rows](t);
        }
      }
    }
  }
  if (g.on_tile != nullptr) report(g, cut, reported, g.n);
}

template <class E>
void rows_of(const HalfProduct& g, int64_t begin, int64_t end, const HalfScratch& s) {
  if (g.m <= kHalfFewRows) {
    few_rows<E>(g, begin, end, s);
    if (g.on_tile != nullptr) (*g.on_tile)(begin, end, g.first_col, g.first_col + g.n);
    return;
  }
  const bool runs = g.runs.point != nullptr;
  const bool in_place = has_pairs<E>(g) && (g.n <= (runs ? kMostRunCols : 3 * kHalfCols) || end - begin <= kTileRows);
  const Reads reads = !in_place ? Reads::packed : runs ? Reads::runs : Reads::rows;
  const int64_t words = row_words<E>(g.k);
  RowsOfA<E> a(g, s);
  int64_t most = half_row_block(words);
  if (g.on_tile != nullptr && g.on_tile->whole_rows)
    most = min64(most, max64(kNearRows, kNearElements / g.n / kTileRows * kTileRows));
  const HalfCut blocks(begin, end, most);
  for (int64_t block = 0; block < blocks.tiles && !stop_requested(); ++block) {
    const HalfCut cut(blocks.row(block), blocks.row(block + 1), kTileRows);
    a.begin(cut.begin, cut.begin + cut.rows);
    if (!in_place) {
      for (int64_t i = 0; i < cut.tiles; ++i) {
        const int64_t row = cut.row(i);
        a.pack(row, cut.row(i + 1) - row, s.a + (row - cut.begin) * words * kWord);
      }
    }
    block_of_rows<E>(g, cut, s, reads);
  }
}

// ---- few rows, B as it lies ----

/// Columns [col, col + NV vectors) of one row, of which `n` exist.
template <class E, int NV>
void direct_columns(const HalfProduct& g, const std::uint16_t* b, int64_t b_row, int64_t row, int64_t col, int64_t n) {
  using N = typename E::Number;
  F32v acc[NV] = {};
  const std::uint16_t* a = g.a + row * g.a_row;
  b += col;
  for (int64_t p = 0; p < g.k; ++p, a += g.a_col, b += b_row) {
    const F32v x = N::widened(load<std::uint16_t>(a) + U16h{});
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      const U16h halves = n >= NV * kW ? load_halves(b + v * kW) : load_halves(b + v * kW, n - v * kW);
      acc[v] = mul_add(x, N::widened(halves), acc[v]);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < NV; ++v)
    if (v * kW < n) Finish<E>(g, col + v * kW, n - v * kW).put(acc[v], row);
}

/// An element of C whose row of A and column of B lie side by side.
template <class E>
float direct_dot(const std::uint16_t* a, const std::uint16_t* b, int64_t k) {
  using N = typename E::Number;
  F32v acc[4] = {};
  int64_t p = 0;
  for (; p + 4 * kW <= k; p += 4 * kW) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      acc[v] = mul_add(N::widened(load_halves(a + p + v * kW)), N::widened(load_halves(b + p + v * kW)), acc[v]);
  }
  for (; p < k; p += kW) {
    const int64_t n = min64(kW, k - p);
    acc[0] = mul_add(N::widened(load_halves(a + p, n)), N::widened(load_halves(b + p, n)), acc[0]);
  }
  return sum_lanes((acc[0] + acc[1]) + (acc[2] + acc[3]));
}

template <class E>
void direct_row(const HalfProduct& g, const std::uint16_t* b, int64_t b_row, int64_t b_col, int64_t row) {
  PollThrottle throttle;
  if (b_col == 1) {
    int64_t col = 0;
    for (; col + 4 * kW <= g.n && !throttle.stop(4 * kW * g.k); col += 4 * kW)
      direct_columns<E, 4>(g, b, b_row, row, col, 4 * kW);
    for (; col < g.n; col += kW) direct_columns<E, 1>(g, b, b_row, row, col, min64(kW, g.n - col));
    return;
  }
  for (int64_t col = 0; col < g.n && !throttle.stop(kW * g.k); col += kW) {
    const int64_t n = min64(kW, g.n - col);
    float sums[kW] = {};
    for (int64_t j = 0; j < n; ++j) sums[j] = direct_dot<E>(g.a + row * g.a_row, b + (col + j) * b_col, g.k);
    Finish<E>(g, col, n).put(loadv(sums), row);
  }
}

}  // namespace

void half_rows(const HalfProduct& g, int64_t begin, int64_t end, const HalfScratch& scratch) noexcept {
#if defined(__AVX512BF16__)
  rows_of<PairBf16>(g, begin, end, scratch);
#else
  g.elem == Elem::bf16 ? rows_of<WideBf16>(g, begin, end, scratch) : rows_of<WideF16>(g, begin, end, scratch);
#endif
}

void half_direct(const HalfProduct& g, const std::uint16_t* b, int64_t b_row, int64_t b_col, int64_t begin,
                 int64_t end) noexcept {
  for (int64_t row = begin; row < end; ++row) {
    if (g.elem == Elem::bf16)
      direct_row<WideBf16>(g, b, b_row, b_col, row);
    else
      direct_row<WideF16>(g, b, b_row, b_col, row);
  }
  if (g.on_tile != nullptr) (*g.on_tile)(begin, end, g.first_col, g.first_col + g.n);
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
