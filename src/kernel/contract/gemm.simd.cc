// The f32 GEMM.
//
// Every element is a chain of fma over each block of k, and the blocks are added in order; only transposed B with few
// rows (dot_rows) sums along vectors, and a single row (row_strip) uses several chains. The bits therefore do not
// depend on how rows are split.

#include "kernel/contract/gemm.simd.h"

#include "base/poll_throttle.h"
#include "kernel/contract/gemm_row.h"
#include "kernel/contract/gemm_tile.h"
#include "kernel/simd/nearer.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

constexpr int64_t kThinRows = kPanelRows;              ///< up to this many rows, B is read once and in place
constexpr int64_t kStreamRows = 48;                    ///< the same of a packed B, panel after panel
constexpr int64_t kStreamElements = int64_t{1} << 17;  ///< of C that stay in the second-level cache for a callback
constexpr int64_t kDotRows = 16;                       ///< up to this many rows, a transposed B is read in place
constexpr int64_t kRowBlockPanels = 12;
constexpr int64_t kLineFloats = 16;
constexpr int64_t kNearElements = 8192;  ///< elements of C that stay in L1 until a tile callback has processed them

constexpr int64_t kAwaitSteps = 64;  ///< of k that take longer than to bring a tile of C nearer
constexpr int64_t kAheadSteps = 4;   ///< of k between prefetches

/// Keeps R rows x NV vectors of C in registers. PackedA: a_row is 1, else a_col is 1. Tail: only `lanes` lanes of the
/// last vector. Ahead: g.ahead is there.
template <int R, int NV, bool PackedA, bool Tail, bool Ahead = false>
void tile(const GemmBlock& g, int64_t lanes) {
  constexpr int kPanelVectors = static_cast<int>(kPanelCols) / kW;
  const Mask mask = first_lanes(Tail ? lanes : 0);
  const int64_t a_row = PackedA ? 1 : g.a_row, a_col = PackedA ? g.a_col : 1;
  const int64_t b_row = g.b_row, b_panel = NV > kPanelVectors ? g.b_panel : 0;
  F32v acc[R][NV];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc[r][v] = F32v{};
  if (g.k >= kAwaitSteps) {  // what the sums are added to, or written to, arrives meanwhile
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < NV; v += kLineFloats / kW) __builtin_prefetch(g.c + r * g.c_row + v * kW, 1, 2);
  }
  const float* a = g.a;
  const float* b = g.b;
  const auto step = [&] __attribute__((always_inline)) {
    F32v bv[NV];
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) {
      const float* p = b + (v / kPanelVectors) * b_panel + (v % kPanelVectors) * kW;
      bv[v] = Tail && v == NV - 1 ? load_mask(p, mask) : loadv(p);
    }
    const Factors<R, PackedA> factors(a, a_row);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) factors.add(acc[r][v], bv[v], r);
    a += a_col;
    b += b_row;
    asm volatile("" : "+r"(a));  // else the loads of later steps come first, and take the registers of the sums
  };
  int64_t i = 0;
  if constexpr (Ahead) {
    const float* ahead = g.ahead;
    const float* const end = ahead + g.ahead_lines * kLineFloats;
    const int64_t each = ceil_div(g.ahead_lines * kAheadSteps, max64(1, g.k));
    for (; i + kAheadSteps <= g.k; i += kAheadSteps) {
      if (ahead < end) ahead = bring_nearer(ahead, each);
#pragma GCC unroll 4
      for (int64_t s = 0; s < kAheadSteps; ++s) step();
    }
  }
  for (; i < g.k; ++i) step();
  finish<R, NV, Tail>(acc, g, mask);
}

using TileFn = void (*)(const GemmBlock&, int64_t);

template <bool PackedA, int NV, bool Tail, bool Ahead, int R>
constexpr TileFn tile_or_null() {
  if constexpr (R >= 1 && NV <= wide_vectors(R)) {
    return tile<R, NV, PackedA, Tail, Ahead>;
  } else {
    return nullptr;
  }
}

/// Dispatches tiles by their number of rows.
template <bool PackedA, int NV, bool Tail, bool Ahead = false>
struct TileTable {
  TileFn at[13] = {};
  constexpr TileTable() { fill<1>(); }
  template <int R>
  constexpr void fill() {
    at[R] = tile_or_null<PackedA, NV, Tail, Ahead, R>();
    if constexpr (R < kTileRows) fill<R + 1>();
  }
};
template <bool PackedA, int NV, bool Tail>
constexpr TileTable<PackedA, NV, Tail> kTiles;
/// Of the widest tiles that any number of rows has.
constexpr int kWide = wide_vectors(kTileRows);
constexpr int64_t kPanelParts = kPanelCols / (kWide * kW);  ///< widest tiles side by side in a panel
template <bool PackedA>
constexpr TileTable<PackedA, kWide, false, true> kTilesAhead;

/// The lines of the next panel that each of `tiles` tiles of rows brings nearer; tiles begin at pairs of lines.
FRAZIL_INLINE int64_t lines_each(int64_t depth, int64_t tiles) {
  const int64_t lines = ceil_div(depth * kPanelCols / kLineFloats, tiles * kPanelParts);
  return (lines + 3) / 4 * 4;
}

/// Makes `part` the columns of `whole` from j on.
FRAZIL_INLINE void move_to(GemmBlock& part, const GemmBlock& whole, int64_t j) {
  part.b = whole.b + j / kPanelCols * whole.b_panel + j % kPanelCols;
  part.c = whole.c + j;
  if (whole.col_bias != nullptr) part.col_bias = whole.col_bias + j;
  if (whole.col_scale != nullptr) part.col_scale = whole.col_scale + j;
  if (whole.col_shift != nullptr) part.col_shift = whole.col_shift + j;
  if (whole.addend != nullptr) part.addend = whole.addend + j;
}

/// At most kTileRows rows. All columns except the tail are computed in the widest tiles that fit.
template <bool PackedA>
void strip(const GemmBlock& g, int64_t rows, int64_t cols) {
  GemmBlock part = g;
  int64_t j = 0;
  const auto step = [&](TileFn fn, int64_t width) __attribute__((always_inline)) {
    fn(part, width);
    j += width;
    part.ahead += part.ahead_lines * kLineFloats;
    if (j < cols) move_to(part, g, j);
  };
  const auto run = [&]<int NV>() __attribute__((always_inline)) {
    const TileFn fn =
        NV == kWide && g.ahead != nullptr ? kTilesAhead<PackedA>.at[rows] : kTiles<PackedA, NV, false>.at[rows];
    if (fn == nullptr) return;
    while (cols - j >= NV * kW) step(fn, NV * kW);
  };
  run.template operator()<8>();
  run.template operator()<4>();
  run.template operator()<2>();
  run.template operator()<1>();
  if (j < cols) step(kTiles<PackedA, 1, true>.at[rows], cols - j);
}

/// One row times up to NV vectors of columns: S chains of fma, each over every S-th step of k, to hide latency when
/// columns are few.
template <int NV, int S, bool Tail>
void row_tile(const GemmBlock& g, int64_t lanes) {
  constexpr int kPanelVectors = static_cast<int>(kPanelCols) / kW;
  const Mask mask = first_lanes(Tail ? lanes : 0);
  F32v acc[S][NV];
#pragma GCC unroll 16
  for (int s = 0; s < S; ++s)
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc[s][v] = F32v{};
  const float* a = g.a;
  const float* b = g.b;
  const int64_t a_col = g.a_col, b_row = g.b_row, b_panel = NV > kPanelVectors ? g.b_panel : 0;
  const auto step = [&](int s) __attribute__((always_inline)) {
    const F32v x = set1(load_1(a));
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) {
      const float* p = b + (v / kPanelVectors) * b_panel + (v % kPanelVectors) * kW;
      acc[s][v] = mul_add(x, Tail && v == NV - 1 ? load_mask(p, mask) : loadv(p), acc[s][v]);
    }
    a += a_col;
    b += b_row;
  };
  int64_t i = 0;
  for (; i + S <= g.k; i += S) {
#pragma GCC unroll 16
    for (int s = 0; s < S; ++s) step(s);
  }
#pragma GCC unroll 16
  for (int s = 0; s < S - 1; ++s)
    if (i + s < g.k) step(s);
#pragma GCC unroll 16
  for (int half = S / 2; half > 0; half /= 2)
#pragma GCC unroll 16
    for (int s = 0; s < half; ++s)
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) acc[s][v] += acc[s + half][v];
  F32v sum[1][NV];
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) sum[0][v] = acc[0][v];
  finish<1, NV, Tail>(sum, g, mask);
}

/// All columns of one row in tiles of S chains, of any width.
template <int S>
void row_strip(const GemmBlock& g, int64_t cols) {
  if constexpr (S <= 4) {
    if (cols == 2 * kW) return row_tile<2, S, false>(g, cols);  // copying the block costs as much
  }
  GemmBlock part = g;
  int64_t j = 0;
  const auto step = [&](TileFn fn, int64_t width) __attribute__((always_inline)) {
    fn(part, width);
    j += width;
    if (j < cols) move_to(part, g, j);
  };
  const auto run = [&]<int NV>() __attribute__((always_inline)) {
    if constexpr (NV * S <= 8)
      while (cols - j >= NV * kW) step(row_tile<NV, S, false>, NV * kW);
  };
  run.template operator()<4>();
  run.template operator()<2>();
  run.template operator()<1>();
  if (j < cols) step(row_tile<1, S, true>, cols - j);
}

/// A row of any width. Two panels at a time: B streams faster from the second-level cache than with four.
void row_strips(const GemmBlock& g, int64_t cols, bool backwards) {
  constexpr int64_t kCols = 4 * kW;
  const int64_t whole = cols / kCols;
  GemmBlock part = g;
  const auto rest = [&] {
    if (whole * kCols == cols) return;
    move_to(part, g, whole * kCols);
    row_strip<2>(part, cols - whole * kCols);
  };
  if (backwards) rest();
  PollThrottle throttle;
  for (int64_t t = 0; t < whole && !throttle.stop(kCols * g.k); ++t) {
    move_to(part, g, (backwards ? whole - 1 - t : t) * kCols);
    row_tile<4, 2, false>(part, kCols);
  }
  if (!backwards) rest();
}

/// Few rows: each chunk of columns completes all of k before the next, so that B is read once and C stays in the cache.
/// Chunks of one packed panel lie in memory in this order, which brings the next block nearer.
void thin(const GemmBlock& g, int64_t rows, int64_t cols, int64_t k, int64_t blocks, int64_t chunk, bool backwards) {
  const bool in_memory_order = chunk == kPanelCols && g.b_row == kPanelCols && !backwards;
  const int64_t chunks = ceil_div(cols, chunk);
  for (int64_t at = 0; at < chunks; ++at) {
    const int64_t j = (backwards ? chunks - 1 - at : at) * chunk;
    for (int64_t i = 0; i < blocks; ++i) {
      if (stop_requested()) return;
      const int64_t k0 = i * k / blocks;
      GemmBlock part = g;
      part.k = (i + 1) * k / blocks - k0;
      part.a += k0 * g.a_col;
      part.b += k0 * g.b_row + j / kPanelCols * g.b_panel;
      part.c += j;
      part.col_bias = i == blocks - 1 && g.col_bias != nullptr ? g.col_bias + j : nullptr;
      part.accumulate = i > 0 || g.accumulate;
      part.slope = i == blocks - 1 ? g.slope : 1;
      if (in_memory_order && (at + 1 < chunks || i + 1 < blocks)) {
        part.ahead = part.b + part.k * kPanelCols;
        part.ahead_lines = lines_each(part.k, ceil_div(rows, kTileRows));
      }
      gemm_block(part, rows, min64(chunk, cols - j));
    }
  }
}

/// C = A * B^T for R rows of A against NC rows of B, all contiguous along k.
template <int R, int NC>
void dot_tile(const Gemm& g, int64_t row, int64_t col) {
  F32v acc[R][NC];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int c = 0; c < NC; ++c) acc[r][c] = F32v{};
  const float* a = g.a + row * g.a_row;
  const float* b = g.b + col * g.b_col;
  const auto step = [&](int64_t i, auto&& get) __attribute__((always_inline)) {
    F32v av[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) av[r] = get(a + r * g.a_row + i);
#pragma GCC unroll 16
    for (int c = 0; c < NC; ++c) {
      const F32v bv = get(b + c * g.b_col + i);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) acc[r][c] = mul_add(av[r], bv, acc[r][c]);
    }
  };
  int64_t i = 0;
  for (; i + kW <= g.k; i += kW) step(i, [](const float* p) __attribute__((always_inline)) { return loadv(p); });
  if (i < g.k) {
    const Mask mask = first_lanes(g.k - i);
    step(i, [&](const float* p) __attribute__((always_inline)) { return load_mask(p, mask); });
  }
  for (int r = 0; r < R; ++r) {
    float* out = g.c + (row + r) * g.c_row + col;
    if constexpr (NC == 1) {
      float x = sum_lanes(acc[r][0]);
      if (g.accumulate) x = *out + x;
      if (g.bias != nullptr) x += load_1(g.bias + col);
      *out = bent(x, g.slope);
    } else {
      for (int c = 0; c < NC; c += 4) {
        F32x4 x = sum4(acc[r][c], acc[r][c + 1], acc[r][c + 2], acc[r][c + 3]);
        if (g.accumulate) x = load_4(out + c) + x;
        if (g.bias != nullptr) x += load_4(g.bias + col + c);
        store_4(out + c, bent(x, g.slope));
      }
    }
  }
}

template <int R>
void dot_strip(const Gemm& g, int64_t row, int64_t col, int64_t end) {
  constexpr int kCols = R == 1 ? 8 : 4;
  for (; col + kCols <= end; col += kCols) dot_tile<R, kCols>(g, row, col);
  for (; col < end; ++col) dot_tile<R, 1>(g, row, col);
}

/// Few rows of A, transposed B. Parts begin where chunks do.
void dot_rows(const Gemm& g, const GemmPart& part) {
  constexpr int64_t kChunk = 32;
  static_assert(kPartCols % kChunk == 0);
  const int64_t end = part.row1;
  for (int64_t col = part.col0; col < part.col1; col += kChunk) {
    if (stop_requested()) return;
    const int64_t stop = min64(part.col1, col + kChunk);
    int64_t row = part.row0;
    for (; row + 4 <= end; row += 4) dot_strip<4>(g, row, col, stop);
    if (end - row == 3) dot_strip<3>(g, row, col, stop);
    if (end - row == 2) dot_strip<2>(g, row, col, stop);
    if (end - row == 1) dot_strip<1>(g, row, col, stop);
  }
}

/// C (or its first update) for an empty product.
void no_depth(const Gemm& g, const GemmPart& part) {
  for (int64_t r = part.row0; r < part.row1; ++r) {
    float* c = g.c + r * g.c_row;
    for (int64_t j = part.col0; j < part.col1; ++j) {
      float x = g.accumulate ? c[j] : 0.f;
      if (g.bias != nullptr) x += load_1(g.bias + j);
      c[j] = bent(x, g.slope);
    }
  }
}

struct Blocking {
  int64_t begin, end;  ///< rows
  int64_t k0, k1, j0, j1;
  const float* b;
  int64_t b_row, b_panel;
  bool pack_a, first, last;  ///< position in the blocks of k
  const float* next;         ///< panel of a packed B that follows this block; null: none
  int64_t done_from;         ///< columns [done_from, j1) of C are final after this block; >= j1: none
};

/// Rows cut into tiles of nearly equal height, a few of which make a panel of A.
struct RowPanels {
  static constexpr int64_t kTiles = kPanelRows / kTileRows;
  int64_t first, rows, tiles, count;
  RowPanels(int64_t begin, int64_t end)
      : first(begin), rows(end - begin), tiles(ceil_div(rows, kTileRows)), count(ceil_div(tiles, kTiles)) {}
  int64_t begin(int64_t panel) const { return first + tile(panel) * rows / tiles; }
  /// The first tile of a panel.
  int64_t tile(int64_t panel) const { return min64(panel * kTiles, tiles); }
};

/// What the tiles of some rows bring nearer while they read one panel of a packed B: the next one, a part each.
struct NextPanel {
  const float* at;
  int64_t lines;
  NextPanel(const Blocking& s, int64_t j, int64_t tiles) {
    const bool more = j + kPanelCols < s.j1;
    at = more && s.b_row == kPanelCols ? s.b + (j + kPanelCols - s.j0) / kPanelCols * s.b_panel
         : more                        ? nullptr
                                       : s.next;
    lines = lines_each(s.k1 - s.k0, tiles);
  }
  void hand_to(GemmBlock& part, int64_t tile) const {
    part.ahead = at == nullptr ? nullptr : at + tile * kPanelParts * lines * kLineFloats;
    part.ahead_lines = at == nullptr ? 0 : lines;
  }
};

/// C[begin..end, j0..j1] += A[.., k0..k1] * B[k0..k1, ..]
void rows_of_block(const Gemm& g, const Blocking& s, float* a_scratch) {
  const RowPanels panels(s.begin, s.end);
  const int64_t depth = s.k1 - s.k0;
  const int64_t near = max64(2, min64(kRowBlockPanels, kNearElements / kPanelRows / (s.j1 - s.j0)));
  const int64_t block = s.done_from < s.j1 ? near : kRowBlockPanels;
  for (int64_t p0 = 0; p0 < panels.count; p0 += block) {
    const int64_t p1 = min64(panels.count, p0 + block), row0 = panels.begin(p0);
    if (s.pack_a) {
      for (int64_t p = p0; p < p1; ++p) {
        const int64_t row = panels.begin(p), height = panels.begin(p + 1) - row;
        gemm_pack_rows(height, depth, g.a + row * g.a_row + s.k0 * g.a_col, g.a_row, g.a_col,
                       a_scratch + (row - row0) * depth);
      }
    }
    for (int64_t j = s.j0; j < s.j1; j += kPanelCols) {
      if (stop_requested()) return;
      const NextPanel next(s, j, panels.tile(p1) - panels.tile(p0));
      for (int64_t p = p0; p < p1; ++p) {
        const int64_t row = panels.begin(p), height = panels.begin(p + 1) - row;
        GemmBlock part;
        part.k = depth;
        part.a = s.pack_a ? a_scratch + (row - row0) * depth : g.a + row * g.a_row + s.k0 * g.a_col;
        part.a_row = s.pack_a ? 1 : g.a_row;
        part.a_col = s.pack_a ? height : g.a_col;
        part.b = s.b + (j - s.j0) / kPanelCols * s.b_panel;
        part.b_row = s.b_row;
        part.b_panel = s.b_panel;
        part.c = g.c + row * g.c_row + j;
        part.c_row = g.c_row;
        part.col_bias = s.last && g.bias != nullptr ? g.bias + j : nullptr;
        part.row_bias = nullptr;
        part.addend = s.last && g.addend != nullptr ? g.addend + row * g.n + j : nullptr;
        part.addend_row = g.n;
        part.accumulate = !s.first || g.accumulate;
        part.slope = s.last ? g.slope : 1;
        next.hand_to(part, panels.tile(p) - panels.tile(p0));
        gemm_block(part, height, min64(kPanelCols, s.j1 - j));
      }
    }
    if (s.done_from < s.j1) (*g.on_tile)(row0, panels.begin(p1), s.done_from, s.j1);
  }
}

/// The first column of C that is complete and to be reported once columns up to j1 are; j1: none.
FRAZIL_INLINE int64_t first_done(const Gemm& g, int64_t j0, int64_t j1) {
  if (g.on_tile == nullptr) return j1;
  if (!g.on_tile->whole_rows) return j0;
  return j1 == g.n ? 0 : j1;
}

/// The general case: blocks of k and n; B is packed per block unless it is packed already or packing is not worthwhile.
void blocked(const Gemm& g, const GemmPart& whole, const float* packed_b, float* scratch) {
  const int64_t begin = whole.row0, end = whole.row1, cols = whole.col1 - whole.col0;
  const int64_t depths = depth_blocks(g.k), col_blocks = ceil_div(cols, kColBlock);
  const int64_t panels = ceil_div(cols, kPanelCols);
  const bool direct_a = (g.a_col == 1 || g.a_row == 1);
  const bool direct_b = packed_b == nullptr && g.b_col == 1 && (end - begin <= 2 * kPanelRows || g.k * cols <= 6144);
  float* const b_scratch = scratch;
  float* const a_scratch = scratch + min64(kDepthBlock, g.k) * min64(kColBlock, panels * kPanelCols);
  Blocking s;
  s.begin = begin;
  s.end = end;
  // A few short contiguous rows stay in L1 without packing.
  const bool near_a = g.a_col == 1 && g.a_row == g.k && g.k <= 64;
  s.pack_a = !direct_a || (!near_a && cols > 4 * kPanelCols && end - begin > kPanelRows);
  for (int64_t jb = 0; jb < col_blocks; ++jb) {
    s.j0 = whole.col0 + jb * panels / col_blocks * kPanelCols;
    s.j1 = min64(whole.col1, whole.col0 + (jb + 1) * panels / col_blocks * kPanelCols);
    for (int64_t kb = 0; kb < depths; ++kb) {
      if (stop_requested()) return;
      s.k0 = kb * g.k / depths;
      s.k1 = (kb + 1) * g.k / depths;
      s.first = kb == 0;
      s.last = kb == depths - 1;
      s.done_from = s.last ? first_done(g, s.j0, s.j1) : s.j1;
      s.next = nullptr;
      if (packed_b != nullptr) {
        s.b_row = kPanelCols;
        s.b_panel = g.k * kPanelCols;
        s.b = packed_b + s.j0 * g.k + s.k0 * kPanelCols;
        s.next = s.last ? nullptr : packed_b + s.j0 * g.k + s.k1 * kPanelCols;
      } else if (direct_b) {
        s.b_row = g.b_row;
        s.b_panel = kPanelCols;
        s.b = g.b + s.k0 * g.b_row + s.j0;
      } else {
        s.b_row = kPanelCols;
        s.b_panel = (s.k1 - s.k0) * kPanelCols;
        s.b = b_scratch;
        gemm_pack_cols(s.k1 - s.k0, s.j1 - s.j0, g.b + s.k0 * g.b_row + s.j0 * g.b_col, g.b_row, g.b_col, b_scratch,
                       s.b_panel);
      }
      rows_of_block(g, s, a_scratch);
    }
  }
}

}  // namespace

void gemm_block(const GemmBlock& g, int64_t rows, int64_t cols) noexcept {
  // Copying the block costs as much as short tiles do.
  if (cols == kWide * kW && rows <= kTileRows) {
    const auto pick = [&](const auto& tiles) { return tiles.at[rows]; };
    const bool packed = g.a_row == 1;
    if (g.ahead != nullptr) return (packed ? pick(kTilesAhead<true>) : pick(kTilesAhead<false>))(g, kWide * kW);
    return (packed ? pick(kTiles<true, kWide, false>) : pick(kTiles<false, kWide, false>))(g, kWide * kW);
  }
  const int64_t parts = ceil_div(rows, kTileRows);
  for (int64_t p = 0; p < parts; ++p) {
    const int64_t row = p * rows / parts, height = (p + 1) * rows / parts - row;
    GemmBlock part = g;
    part.a += row * g.a_row;
    part.c += row * g.c_row;
    if (g.row_bias != nullptr) part.row_bias += row;
    if (g.addend != nullptr) part.addend += row * g.addend_row;
    if (g.ahead != nullptr) part.ahead += p * cols / (kWide * kW) * g.ahead_lines * kLineFloats;
    if (g.a_row == 1) {
      strip<true>(part, height, cols);
    } else {
      strip<false>(part, height, cols);
    }
  }
}

/// Whole panels of a B with dense rows. Processes a few rows at a time in memory order.
static void pack_row_major(int64_t k, int64_t panels, const float* b, int64_t b_row, float* packed,
                           int64_t panel) noexcept {
  constexpr int64_t kRows = 16;
  PollThrottle throttle;
  for (int64_t i0 = 0; i0 < k && !throttle.stop(kRows * panels * kPanelCols); i0 += kRows) {
    const int64_t i1 = min64(i0 + kRows, k);
    for (int64_t p = 0; p < panels; ++p) {
      float* to = packed + p * panel;
      const float* from = b + p * kPanelCols;
      for (int64_t i = i0; i < i1; ++i)
        for (int v = 0; v < kPanelCols; v += kW) storev(to + i * kPanelCols + v, loadv(from + i * b_row + v));
    }
  }
}

void gemm_pack_cols(int64_t k, int64_t n, const float* b, int64_t b_row, int64_t b_col, float* packed,
                    int64_t panel) noexcept {
  PollThrottle throttle;
  const int64_t done = b_col == 1 ? n / kPanelCols : 0;
  pack_row_major(k, done, b, b_row, packed, panel);
  b += done * kPanelCols * b_col;
  packed += done * panel;
  for (int64_t j = done * kPanelCols; j < n; j += kPanelCols, packed += panel, b += kPanelCols * b_col) {
    if (throttle.stop(k * kPanelCols)) return;
    const int64_t cols = min64(kPanelCols, n - j);
    int64_t i = 0;
    if (cols == kPanelCols && b_row == 1) {
      for (; i + kSquare <= k; i += kSquare)
        for (int c = 0; c < kPanelCols; c += kSquare)
          transpose_square(packed + i * kPanelCols + c, kPanelCols, b + i + c * b_col, b_col);
    }
    for (; i < k; ++i) {
      for (int64_t c = 0; c < cols; ++c) packed[i * kPanelCols + c] = load_1(b + i * b_row + c * b_col);
      for (int64_t c = cols; c < kPanelCols; ++c) packed[i * kPanelCols + c] = 0;
    }
  }
}

void gemm_pack_rows(int64_t rows, int64_t k, const float* a, int64_t a_row, int64_t a_col, float* packed) noexcept {
  int64_t i = 0;
  if (a_col == 1 && rows >= 4) {
    for (; i + 4 <= k; i += 4) {
      for (int64_t r = 0; r + 4 <= rows; r += 4) transpose4(packed + i * rows + r, rows, a + r * a_row + i, a_row);
      transpose4(packed + i * rows + rows - 4, rows, a + (rows - 4) * a_row + i, a_row);
    }
  }
  for (; i < k; ++i)
    for (int64_t r = 0; r < rows; ++r) packed[i * rows + r] = load_1(a + r * a_row + i * a_col);
}

/// Whether the rows of A are copied side by side: they are many, or all in the same set of the first-level cache.
static bool packs_few_rows(const Gemm& g, int64_t rows, int64_t cols) {
  constexpr int64_t kSetFloats = 512;
  const bool clash = rows > 4 && g.a_row % kSetFloats == 0;
  return g.a_col == 1 && cols > 3 * kPanelCols && g.k <= kStreamDepth && (rows > kPanelRows || clash);
}

/// Few rows, which read B once. What the bits depend on is chosen by the columns of all of C.
static void few_rows(const Gemm& g, const GemmPart& part, const float* packed_b, float* scratch) {
  const int64_t begin = part.row0, end = part.row1, cols = part.col1 - part.col0;
  GemmBlock block;
  block.a = g.a + begin * g.a_row;
  block.a_row = end - begin == 1 && g.a_col != 1 ? 1 : g.a_row;
  block.a_col = g.a_col;
  block.b = packed_b != nullptr ? packed_b : g.b;
  block.b_row = packed_b != nullptr ? kPanelCols : g.b_row;
  block.b_panel = packed_b != nullptr ? g.k * kPanelCols : kPanelCols;
  block.c = g.c + begin * g.c_row;
  block.c_row = g.c_row;
  block.col_bias = g.bias;
  block.row_bias = nullptr;
  block.accumulate = g.accumulate;
  block.slope = g.slope;
  move_to(block, block, part.col0);
  if (g.m == 1 && sums_in_chains(g.n, g.k, packed_b != nullptr, kW)) {
    block.k = g.k;
    const int chains = row_chains(g.n, kW);
    if (chains == 2) return row_strips(block, cols, g.backwards);
    if (chains == 8) return row_strip<8>(block, g.n);
    static_assert(2 * kW <= kPartCols);
    return g.n < 2 * kW ? row_tile<2, 4, true>(block, g.n - kW) : row_strip<4>(block, cols);
  }
  // Long rows of B: a few at a time from end to end, as walking down a column would miss the TLB.
  const bool always_thin = g.m <= kThinRows && (g.a_row == 1 || g.a_col == 1 || g.m == 1);
  if (packed_b == nullptr && always_thin && g.b_row >= 512 && g.n >= 256)
    return thin(block, end - begin, cols, g.k, ceil_div(g.k, 16), 2048, false);
  // Up to four rows wait for memory, and read several panels side by side.
  const bool streams = packed_b != nullptr && g.m > 4 && !g.backwards;
  if (packed_b != nullptr && packs_few_rows(g, end - begin, cols)) {
    gemm_pack_rows(end - begin, g.k, block.a, g.a_row, g.a_col, scratch);
    block.a = scratch, block.a_row = 1, block.a_col = end - begin;
  }
  thin(block, end - begin, cols, g.k, depth_blocks(g.k), streams ? kPanelCols : 4 * kPanelCols, g.backwards);
}

/// For the paths of few rows: adds g.addend to finished sums, whose slope is left to this.
static void add_addend(const Gemm& g, const GemmPart& part) {
  for (int64_t r = part.row0; r < part.row1; ++r) {
    float* const c = g.c + r * g.c_row;
    for (int64_t j = part.col0; j < part.col1; ++j) c[j] = bent(c[j] + g.addend[r * g.n + j], g.slope);
  }
}

void gemm_run(const Gemm& g, const GemmPart& part, const float* packed_b, float* scratch) noexcept {
  const int64_t rows = part.row1 - part.row0, cols = part.col1 - part.col0;
  if (rows <= 0 || cols <= 0) return;
  const bool transposed_b = packed_b == nullptr && g.b_row == 1 && g.b_col != 1;
  const bool a_in_place = g.a_row == 1 || g.a_col == 1 || rows == 1;
  const bool dots = transposed_b && g.a_col == 1 && g.m <= kDotRows && g.n > 1;
  const bool streams =
      packed_b != nullptr && rows <= kStreamRows && (g.on_tile == nullptr || rows * cols <= kStreamElements);
  const bool few = a_in_place && (streams || (rows <= kThinRows && (packed_b != nullptr || g.b_col == 1)));
  if (g.k > 0 && !dots && !few) return blocked(g, part, packed_b, scratch);
  if (g.addend != nullptr) {
    Gemm sums = g;
    sums.addend = nullptr, sums.slope = 1, sums.on_tile = nullptr;
    gemm_run(sums, part, packed_b, scratch);
    add_addend(g, part);
  } else if (g.k <= 0) {
    no_depth(g, part);
  } else if (dots) {
    dot_rows(g, part);
  } else {
    few_rows(g, part, packed_b, scratch);
  }
  if (g.on_tile != nullptr) (*g.on_tile)(part.row0, part.row1, part.col0, part.col1);
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
