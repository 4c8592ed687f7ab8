// Products of floats.
//
// Rows of A are cut into blocks, which stay in a core's cache, and blocks into tiles. A block is multiplied with one
// panel of B after the other. A is read in place, unless its words must be made or that is slower. Every element of C
// is one chain over k: blocks of k that stay in the first-level cache make nothing faster (docs/decisions/0191).

#include "kernel/contract/product.simd.h"

#include <type_traits>

#include "base/thread/poll_throttle.h"
#include "kernel/contract/block_walk.h"
#include "kernel/contract/float_elements.h"
#include "kernel/contract/gemm_row.h"
#include "kernel/contract/results.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

#if defined(__AVX512F__) || defined(FRAZIL_NEON)  // 32 registers
constexpr int kF32Rows = 12;
constexpr int f32_vectors(int rows) { return rows <= 2 ? 8 : rows <= 6 ? 4 : 2; }
#else
constexpr int kF32Rows = 6;
constexpr int f32_vectors(int rows) { return rows == 1 ? 8 : rows <= 3 ? 4 : 2; }
#endif
#if defined(__AVX512F__)
constexpr int kHalfRows = 12;
constexpr int half_vectors(int rows) { return rows <= 4 ? 4 : 2; }
#elif defined(FRAZIL_NEON)
constexpr int kHalfRows = 8;
constexpr int half_vectors(int rows) { return rows <= 4 ? 4 : 2; }
#else
constexpr int kHalfRows = 4;
constexpr int half_vectors(int) { return 2; }
#endif
/// The rows of the highest tile. max_vectors() returns the vectors of the widest tile of some rows.
template <class E>
constexpr int kTileRows = kIsHalf<E> ? kHalfRows : kF32Rows;
template <class E>
constexpr int max_vectors(int rows) {
  return kIsHalf<E> ? half_vectors(rows) : f32_vectors(rows);
}
static_assert(kF32Rows <= kPanelRows && kHalfRows <= kPanelRows);
constexpr int kTileVectors = 2;  ///< vectors of tiles of many rows

/// Elements of C that stay in a cache until a callback has read them: for f32, the first-level cache.
template <class E>
constexpr int64_t kCachedElements = kIsHalf<E> ? int64_t{1} << 17 : 8192;
constexpr int64_t kCachedRowElements = int64_t{1} << 17;  ///< the same for whole rows
constexpr int64_t kRunStep = 2 * kW;  ///< runs of a multiple of this are packed one by one: their words fill vectors
constexpr int64_t kAwaitSteps = 100;  ///< steps that take longer than prefetching a tile of C

/// A tile of C.
struct Tile : TileOperands {
  const std::byte* last_a = nullptr;  ///< pairs that are not packed: the last element of each row, if k is odd
  const Product* g = nullptr;
  bool plain = false;                  ///< 16-bit floats: sums are rounded, and nothing else
  int64_t row = 0, col = 0, cols = 0;  ///< of C
  Results out;                         ///< f32 only
};

/// The results for 16-bit floats of the sums of a vector of columns, of which `n` exist.
template <class E>
class HalfResults {
 public:
  FRAZIL_INLINE HalfResults(const Product& g, int64_t col, int64_t n) : g_(g), col_(col), n_(n) {
    const Columns& columns = g.columns;
    if (columns.bias != nullptr) bias_ = get(half(columns.bias) + col);
    if (columns.scale != nullptr) scale_ = wide(columns.scale + col), shift_ = wide(columns.shift + col);
  }

  /// Writes to row `row` of C.
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

  FRAZIL_INLINE static const std::uint16_t* half(const void* p) { return static_cast<const std::uint16_t*>(p); }

  FRAZIL_INLINE U16h value(F32v x, int64_t row) const {
    const Columns& c = g_.columns;
    if (c.bias != nullptr && c.bias_in_sum) x += bias_;
    U16h y = E::of_sum(x);
    if (c.scale != nullptr) y = N::narrowed(N::widened(y) * scale_ + shift_);
    if (c.bias != nullptr && !c.bias_in_sum) y = N::narrowed(N::widened(y) + bias_);
    if (c.addend != nullptr) y = N::narrowed(N::widened(y) + get(half(c.addend) + row * c.addend_row + col_));
    if (c.negative_slope != 1) y = N::narrowed(leaky_relu(N::widened(y), c.negative_slope));
    return y;
  }
  FRAZIL_INLINE F32v get(const std::uint16_t* p) const {
    return N::widened(n_ >= kW ? load_halves(p) : load_halves(p, n_));
  }
  FRAZIL_INLINE F32v wide(const float* p) const { return n_ >= kW ? loadv(p) : load_mask(p, first_lanes(n_)); }

  const Product& g_;
  int64_t col_, n_;
  F32v bias_{}, scale_{}, shift_{};
};

/// Writes a tile of C from its sums, which are NV vectors a row.
template <class E, int NV>
[[gnu::noinline]] void put_tile(const Tile& t, const float* sums, int rows) {
  for (int v = 0; v < NV && v * kW < t.cols; ++v) {
    const HalfResults<E> results(*t.g, t.col + v * kW, t.cols - v * kW);
    for (int r = 0; r < rows; ++r) results.put(loadv(sums + (r * NV + v) * kW), t.row + r);
  }
}

template <class E, int R, int NV>
FRAZIL_INLINE void put_sums(const Tile& t, const F32v (&acc)[R][NV]) {
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

/// Computes a tile. Tail: of f32, only some lanes of the last vector exist.
template <class E, int R, int NV, Reads reads, bool Tail>
void tile(const Tile& t) {
  F32v acc[R][NV] = {};
  const Mask mask = first_lanes(Tail ? t.cols - (NV - 1) * kW : 0);
  if (!kIsHalf<E> && t.steps * t.taps >= kAwaitSteps) {  // C arrives during the steps
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < NV; v += kLine / kWord / kW) __builtin_prefetch(t.out.c + r * t.out.c_row + v * kW, 1, 2);
  }
  if constexpr (reads == Reads::runs) {
    sum_runs<E, R, NV, RunWords<E, R>>(t, acc);
  } else if constexpr (reads == Reads::even) {
    sum_runs<E, R, NV, EvenWords<E>>(t, acc);
  } else {
    sum_rows<E, R, NV, reads == Reads::packed, Tail>(t, mask, acc);
  }
  if constexpr (!kIsHalf<E>) {
    finish<R, NV, Tail>(acc, t.out, mask);
  } else {
    if constexpr (E::kInPlace && reads == Reads::rows) {
      if (t.last_a != nullptr) {
        for (int v = 0; v < NV; ++v) {
          const auto part =
              E::part(E::get(t.b + t.steps * t.b_step + v / kPanelVectors * t.b_panel, v % kPanelVectors), 0);
          for (int r = 0; r < R; ++r) E::add(acc[r][v], part, load<std::uint16_t>(t.last_a + r * t.a_row) + U32v{});
        }
      }
    }
    put_sums<E>(t, acc);
  }
}

using TileFn = void (*)(const Tile&);

template <class E, int R, int NV, Reads reads, bool Tail>
constexpr TileFn tile_or_null() {
  constexpr bool kRuns = reads == Reads::runs || reads == Reads::even;
  constexpr int kMaximum = kRuns ? kTileVectors : max_vectors<E>(R);
  if constexpr (NV <= kMaximum) {
    return tile<E, R, NV, reads, Tail>;
  } else {
    return nullptr;
  }
}

/// The functions of tiles by number of rows.
template <class E, int NV, Reads reads, bool Tail>
struct Tiles {
  TileFn at[kTileRows<E> + 1] = {};
  constexpr Tiles() { fill<1>(); }
  template <int R>
  constexpr void fill() {
    at[R] = tile_or_null<E, R, NV, reads, Tail>();
    if constexpr (R < kTileRows<E>) fill<R + 1>();
  }
};
template <class E, int NV, Reads reads, bool Tail>
constexpr Tiles<E, NV, reads, Tail> kTiles;

template <class E, Reads reads>
const TileFn* tiles_of(int vectors, bool tail) {
  if constexpr (!kIsHalf<E>) {
    if (tail) return vectors == 1 ? kTiles<E, 1, reads, true>.at : kTiles<E, 2, reads, true>.at;
    if (vectors == 8) return kTiles<E, 8, reads, false>.at;
  }
  if (vectors == 1) return kTiles<E, 1, reads, false>.at;
  return vectors == 2 ? kTiles<E, 2, reads, false>.at : kTiles<E, 4, reads, false>.at;
}

/// Returns the functions of tiles by number of rows, for `cols` columns in at most `vectors` vectors.
template <class E>
const TileFn* tiles_for(Reads reads, int vectors, int64_t cols) {
  const bool tail = cols < vectors * kW;
  if (reads == Reads::packed) return tiles_of<E, Reads::packed>(vectors, tail);
  if constexpr (E::kInPlace) {
    if (reads == Reads::rows) return tiles_of<E, Reads::rows>(vectors, tail);
    return reads == Reads::even ? tiles_of<E, Reads::even>(vectors, tail) : tiles_of<E, Reads::runs>(vectors, tail);
  }
  return nullptr;
}

/// Chooses how `rows` rows are read: in place if their words are in memory and do not all map to one set of the
/// first-level cache.
template <class E>
Reads choose_reads(const Product& g, int64_t rows) {
  constexpr int64_t kSetBytes = 4096, kFewRows = 4, kSize = sizeof(Element<E>);
  if constexpr (!E::kInPlace) return Reads::packed;
  const bool several = g.n > 3 * kPanelCols && rows > kFewRows;
  if (g.runs.point != nullptr) {
    const bool clash = several && g.runs.taps == 1 && g.runs.depth * kSize % kSetBytes == 0;
    return clash || g.runs.depth % E::kElements != 0 ? Reads::packed : Reads::runs;
  }
  return g.a_col != 1 || (several && g.a_row * kSize % kSetBytes == 0) ? Reads::packed : Reads::rows;
}

// ---- products ----

bool is_plain(const Product& g) {
  const Columns& c = g.columns;
  return !g.wide && c.bias == nullptr && c.addend == nullptr && c.scale == nullptr && c.negative_slope == 1;
}

/// The tiles of a product (see BlockWalk). Their sums become elements of C.
template <class E>
class FloatEnds {
 public:
  using Tile = FRAZIL_ISA_NS::Tile;
  explicit FloatEnds(const Product& g) : g_(g) {
    if constexpr (!kIsHalf<E>) out_ = results_of(g);
  }

  static const TileFn* tiles(Reads reads, int vectors, int64_t cols) { return tiles_for<E>(reads, vectors, cols); }

  void columns(Tile& t, int64_t col, int64_t cols) const {
    t.g = &g_;
    t.plain = is_plain(g_);
    t.col = col, t.cols = cols;
  }

  void rows(Tile& t, int64_t row) const {
    t.row = row;
    if constexpr (!kIsHalf<E>) t.out = out_.at(row, t.col);
    if (E::kElements == 2 && g_.k % 2 != 0) t.last_a = t.a + 2 * (g_.k - 1);
  }

 private:
  const Product& g_;
  Results out_;
};

/// A run of a product: cuts rows and columns, and reports finished tiles.
template <class E>
class FloatRun {
 public:
  FloatRun(const Product& g, const ProductScratch& s, int64_t rows)
      : g_(g), words_(row_words<E>(g.k)), a_(g, s, choose_reads<E>(g, rows), words_ * kWord) {}

  void rows(int64_t begin, int64_t end) {
    const RowCut blocks(begin, end, rows_at_once());
    for (int64_t block = 0; block < blocks.tiles && !stop_requested(); ++block) {
      const RowCut cut(blocks.row(block), blocks.row(block + 1), kTileRows<E>);
      a_.begin(cut);
      for (int64_t i = 0; i < cut.tiles && a_.reads() == Reads::packed; ++i) pack(i);
      multiply();
    }
  }

 private:
  using Rows = RowsOfA<Product, Element<E>>;

  int64_t rows_at_once() const {
    const int64_t most =
        a_.reads() == Reads::runs ? block_rows(row_words<E>(g_.runs.depth), kMaxRunRows) : block_rows(words_);
    if (g_.on_tile == nullptr || !g_.on_tile->whole_rows) return most;
    return min64(most, max64(4 * kTileRows<E>, kCachedRowElements / g_.n / kTileRows<E> * kTileRows<E>));
  }

  void pack(int64_t i) const {
    std::byte* const to = a_.packed(i);
    a_.template pack<kRunStep>(i,
                               [&](const Element<E>* const* from, int64_t step, int64_t rows, int64_t n, int64_t done) {
                                 pack_rows<E>(from, step, rows, n, to + rows * row_words<E>(done) * kWord);
                               });
  }

  Panels panels() const {
    const auto* const at = static_cast<const std::byte*>(g_.packed_b);
    if (g_.b_row == 0) return {at, panel_bytes(g_.elem, g_.k), E::kStep, g_.n};
    return {at, kPanelCols * kWord, g_.b_row * kWord, g_.n, false};
  }

  int64_t steps() const {
    if (a_.reads() == Reads::packed) return words_ / E::kParts;
    return (a_.reads() == Reads::runs ? g_.runs.depth : g_.k) / E::kElements;
  }

  /// Multiplies a block of rows.
  void multiply() {
    const RowCut& cut = a_.cut();
    FloatEnds<E> ends(g_);
    BlockWalk<Rows, FloatEnds<E>> walk(a_, panels(), steps(), ends);
    // One tile of few rows waits for memory, so it reads several panels side by side.
    const bool alone = cut.tiles == 1 && a_.reads() != Reads::runs;
    const int vectors = alone ? max_vectors<E>(static_cast<int>(cut.rows)) : kTileVectors;
    const int64_t width = vectors * kW, wide = vectors == kTileVectors ? 0 : g_.n / width * width;
    const bool by_columns = g_.on_tile != nullptr && !g_.on_tile->whole_rows && wide == 0;
    const int64_t near = ceil_div(ceil_div(kCachedElements<E>, cut.rows), kPanelCols) * kPanelCols,
                  piece = by_columns ? near : g_.n;
    const auto others = [&] {
      for (int64_t col = wide; col < g_.n && !stop_requested(); col += piece) {
        walk.columns(col, min64(g_.n, col + piece), kTileVectors, true);
        if (by_columns) report(col, min64(g_.n, col + piece));
      }
    };
    if (g_.backwards) others();
    for (int64_t col = 0; col < wide && !stop_requested(); col += width) {
      const int64_t at = g_.backwards ? wide - width - col : col;
      walk.columns(at, at + width, vectors, false);
    }
    if (!g_.backwards) others();
    if (!by_columns) report(0, g_.n);
  }

  void report(int64_t first, int64_t past) const {
    if (g_.on_tile == nullptr || stop_requested()) return;
    const RowCut& cut = a_.cut();
    (*g_.on_tile)(cut.begin, cut.begin + cut.rows, g_.first_col + first, g_.first_col + past);
  }

  const Product& g_;
  const int64_t words_;
  Rows a_;
};

template <class E>
void rows_of(const Product& g, int64_t begin, int64_t end, const ProductScratch& s) {
  FloatRun<E>(g, s, end - begin).rows(begin, end);
}

// ---- one row of f32 ----

/// Computes up to NV vectors of columns in S chains, each over every S-th step of k, to hide latency when columns are
/// few.
template <int NV, int S, bool Tail>
void row_tile(const TileOperands& t, int64_t lanes, const Results& out) {
  const Mask mask = first_lanes(Tail ? lanes : 0);
  const int64_t panel = NV > kPanelVectors ? t.b_panel : 0;
  F32v acc[S][NV] = {};
  const std::byte *a = t.a, *b = t.b;
  const auto step = [&](int s) __attribute__((always_inline)) {
    const F32v x = set1(load_1(a));
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) {
      const std::byte* const p = b + v / kPanelVectors * panel;
      acc[s][v] = mul_add(
          x, Tail && v == NV - 1 ? F32::get(p, v % kPanelVectors, mask) : F32::get(p, v % kPanelVectors), acc[s][v]);
    }
    a += t.a_step;
    b += t.b_step;
  };
  int64_t i = 0;
  for (; i + S <= t.steps; i += S) {
#pragma GCC unroll 16
    for (int s = 0; s < S; ++s) step(s);
  }
#pragma GCC unroll 16
  for (int s = 0; s < S - 1; ++s)
    if (i + s < t.steps) step(s);
#pragma GCC unroll 16
  for (int half = S / 2; half > 0; half /= 2)
#pragma GCC unroll 16
    for (int s = 0; s < half; ++s)
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) acc[s][v] += acc[s + half][v];
  F32v sum[1][NV];
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) sum[0][v] = acc[0][v];
  finish<1, NV, Tail>(sum, out, mask);
}

using RowTileFn = void (*)(const TileOperands&, int64_t, const Results&);

/// A product of one row, whose columns are summed in chains (gemm_row.h).
class RowProduct {
 public:
  explicit RowProduct(const Product& g) : g_(g), out_(results_of(g)) {
    t_.steps = g.k;
    t_.a = static_cast<const std::byte*>(g.a);
    t_.a_step = g.a_col * kWord;
    t_.b_step = g.b_row == 0 ? F32::kStep : g.b_row * kWord;
    t_.b_panel = g.b_row == 0 ? panel_bytes(Elem::f32, g.k) : kPanelCols * kWord;
  }

  /// `all` is the number of columns of the product that this one is a part of.
  void run(int64_t all) {
    const int chains = row_chains(all, kW);
    if (chains == 2) return long_row();
    if (chains == 8) return strip<8>(0, g_.n);
    strip<4>(0, g_.n);
  }

 private:
  void put(RowTileFn row, int64_t col, int64_t lanes) {
    t_.b = static_cast<const std::byte*>(g_.packed_b) + col / kPanelCols * t_.b_panel + col % kPanelCols * kWord;
    row(t_, lanes, out_.at(0, col));
  }

  /// Computes columns [col, end) in tiles of S chains, of any width.
  template <int S>
  void strip(int64_t col, int64_t end) {
    if constexpr (S <= 2)
      for (; end - col >= 4 * kW; col += 4 * kW) put(row_tile<4, S, false>, col, 0);
    if constexpr (S <= 4)
      for (; end - col >= 2 * kW; col += 2 * kW) put(row_tile<2, S, false>, col, 0);
    for (; end - col >= kW; col += kW) put(row_tile<1, S, false>, col, 0);
    if (col < end) put(row_tile<1, S, true>, col, end - col);
  }

  /// Processes four vectors at a time, with AVX-512 two panels: B streams faster from the second-level cache than with
  /// four panels.
  void long_row() {
    constexpr int64_t kCols = 4 * kW;
    const int64_t whole = g_.n / kCols;
    if (g_.backwards) strip<2>(whole * kCols, g_.n);
    PollThrottle throttle;
    for (int64_t t = 0; t < whole && !throttle.stop(kCols * g_.k); ++t)
      put(row_tile<4, 2, false>, (g_.backwards ? whole - 1 - t : t) * kCols, 0);
    if (!g_.backwards) strip<2>(whole * kCols, g_.n);
  }

  const Product& g_;
  const Results out_;
  TileOperands t_;
};

// ---- few rows, B in place ----

const std::uint16_t* half_row(const Product& g, int64_t row) {
  return static_cast<const std::uint16_t*>(g.a) + row * g.a_row;
}

/// Computes columns [col, col + NV vectors) of one row, of which `n` exist.
template <class E, int NV>
void direct_columns(const Product& g, const std::uint16_t* b, int64_t b_row, int64_t row, int64_t col, int64_t n) {
  using N = typename E::Number;
  F32v acc[NV] = {};
  const std::uint16_t* a = half_row(g, row);
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
    if (v * kW < n) HalfResults<E>(g, col + v * kW, n - v * kW).put(acc[v], row);
}

/// Returns an element of C whose row of A and column of B are contiguous.
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
void direct_row(const Product& g, const std::uint16_t* b, int64_t b_row, int64_t b_col, int64_t row) {
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
    for (int64_t j = 0; j < n; ++j) sums[j] = direct_dot<E>(half_row(g, row), b + (col + j) * b_col, g.k);
    HalfResults<E>(g, col, n).put(loadv(sums), row);
  }
}

}  // namespace

void product_rows(const Product& g, int64_t begin, int64_t end, const ProductScratch& s) noexcept {
#if defined(__AVX512BF16__)
  rows_of<PairBf16>(g, begin, end, s);
#else
  if (g.elem == Elem::bf16) return rows_of<WideBf16>(g, begin, end, s);
  if (g.elem == Elem::f16) return rows_of<WideF16>(g, begin, end, s);
  rows_of<F32>(g, begin, end, s);
#endif
}

#if !defined(__AVX512BF16__)  // that set has only products of bf16
void f32_block(const F32Block& g, int64_t rows, int64_t cols) noexcept {
  const bool packed = g.a_row == 1;
  Tile t;
  t.steps = g.k;
  t.a_row = g.a_row * kWord, t.a_step = g.a_col * kWord;
  t.b_step = F32::kStep;
  const RowCut cut(0, rows, kTileRows<F32>);
  for (int64_t col = 0; col < cols; col += kTileVectors * kW) {
    t.cols = min64(kTileVectors * kW, cols - col);
    const int vectors = t.cols <= kW ? 1 : kTileVectors;
    const TileFn* const run = tiles_for<F32>(packed ? Reads::packed : Reads::rows, vectors, t.cols);
    t.b = reinterpret_cast<const std::byte*>(g.b + col);
    for (int64_t i = 0; i < cut.tiles; ++i) {
      t.a = reinterpret_cast<const std::byte*>(g.a + cut.row(i) * g.a_row);
      t.out = g.out.at(cut.row(i), col);
      run[cut.row(i + 1) - cut.row(i)](t);
    }
  }
}

void single_row(const Product& g, int64_t all) noexcept {
  RowProduct(g).run(all);
  if (g.on_tile != nullptr) (*g.on_tile)(0, 1, g.first_col, g.first_col + g.n);
}

#endif

void direct_rows(const Product& g, const std::uint16_t* b, int64_t b_row, int64_t b_col, int64_t begin,
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
