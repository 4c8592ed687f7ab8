// Products of bytes: see gemm_i8.simd.h.

#include "kernel/contract/gemm_i8.simd.h"

#include <cstring>

#include "base/thread/poll_throttle.h"
#include "kernel/contract/block_walk.h"
#include "kernel/contract/byte_elements.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

// ---- B in place ----

constexpr int64_t kCols = 64;  ///< columns of C whose sums stay in registers or L1

/// Computes columns [first, first + cols) of row i of C.
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

#if defined(__AVX512F__)
constexpr int kTileRows = 12;
constexpr int kNarrowRows = 0;  ///< most rows for which four vectors fit into the registers
#elif defined(__ARM_FEATURE_DOTPROD)
constexpr int kTileRows = 12;
constexpr int kNarrowRows = 6;
#else
constexpr int kTileRows = 6;
constexpr int kNarrowRows = 3;  ///< most rows for which four vectors fit into the registers
#endif

/// A tile of C, at most kByteCols wide.
struct ByteTile : TileOperands {
  int32_t* c = nullptr;
  int64_t c_row = 0, cols = 0;
  const int32_t *row_sums = nullptr, *row_zeros = nullptr;  ///< of packed A
  int32_t zero = 0;                                         ///< of A in place
  const int32_t* col_terms = nullptr;                       ///< sum b - k bz
  const int32_t* col_zeros = nullptr;                       ///< bz
};

/// The correction of the sums of vectors of columns, for each row of packed A.
template <int NV>
struct RowCorrection {
  U32v zeros[NV], terms[NV];
  const ByteTile& t;
  FRAZIL_INLINE explicit RowCorrection(const ByteTile& tile) : t(tile) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v)
      zeros[v] = load<U32v>(t.col_zeros + v * kW) - static_cast<std::uint32_t>(kMoved),
      terms[v] = load<U32v>(t.col_terms + v * kW);
  }
  FRAZIL_INLINE U32v of(int r, int v) const {
    return zeros[v] * static_cast<std::uint32_t>(t.row_sums[r]) + terms[v] * static_cast<std::uint32_t>(t.row_zeros[r]);
  }
};

/// The correction of the same sums for an A that is read in place. All its rows share one zero point.
template <int NV>
struct OneCorrection {
  U32v moved[NV];
  FRAZIL_INLINE explicit OneCorrection(const ByteTile& t) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) moved[v] = load<U32v>(t.col_terms + v * kW) * static_cast<std::uint32_t>(t.zero);
  }
  FRAZIL_INLINE U32v of(int, int v) const { return moved[v]; }
};

template <class Correction, int R, int NV>
FRAZIL_INLINE void put_sums(const ByteTile& t, const auto (&sums)[R][NV]) {
  const Correction correction(t);
  int32_t edge[R][NV * kW];
  const bool inside = t.cols >= NV * kW;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    int32_t* const to = inside ? t.c + r * t.c_row : edge[r];
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) store(to + v * kW, (U32v)total(sums[r][v]) - correction.of(r, v));
    if (!inside) std::memcpy(t.c + r * t.c_row, to, static_cast<std::size_t>(t.cols) * sizeof *to);
  }
}

template <int R, int NV, Reads reads>
void byte_tile(const ByteTile& t) {
  if constexpr (reads == Reads::packed) {
    Sum sums[R][NV] = {};
    sum_rows<PackedBytes, R, NV, true, false>(t, {}, sums);
    put_sums<RowCorrection<NV>>(t, sums);
  }
#if defined(__AVX512VNNI__)
  else {
    constexpr int kChains = R == 1 ? 4 : R <= 3 ? 2 : 1;  // independent sums, as each product waits for the one before
    I32v sums[R][NV] = {};
    if constexpr (reads == Reads::rows) sum_rows<BytesInPlace, R, NV, false, false, kChains>(t, {}, sums);
    if constexpr (reads == Reads::runs) sum_runs<BytesInPlace, R, NV, RunWords<BytesInPlace, R>, kChains>(t, sums);
    if constexpr (reads == Reads::even) sum_runs<BytesInPlace, R, NV, EvenWords<BytesInPlace>, kChains>(t, sums);
    put_sums<OneCorrection<NV>>(t, sums);
  }
#endif
}

using ByteTileFn = void (*)(const ByteTile&);

/// The functions of tiles of NV vectors, by number of rows.
template <int NV, Reads reads>
struct ByteTiles {
  ByteTileFn at[kTileRows + 1] = {};
  constexpr ByteTiles() { fill<1>(); }
  template <int R>
  constexpr void fill() {
    at[R] = byte_tile<R, NV, reads>;
    if constexpr (R < (NV == 4 ? kNarrowRows : kTileRows)) fill<R + 1>();
  }
};
template <int NV, Reads reads>
constexpr ByteTiles<NV, reads> kByteTiles;

template <Reads reads>
const ByteTileFn* tiles_of(int vectors) {
  if (vectors == 1) return kByteTiles<1, reads>.at;
  if constexpr (kNarrowRows > 0 && reads == Reads::packed) {
    if (vectors == 4) return kByteTiles<4, reads>.at;
  }
  return kByteTiles<2, reads>.at;
}

const ByteTileFn* tiles_for(Reads reads, int vectors) {
#if defined(__AVX512VNNI__)
  if (reads == Reads::rows) return tiles_of<Reads::rows>(vectors);
  if (reads == Reads::runs) return tiles_of<Reads::runs>(vectors);
  if (reads == Reads::even) return tiles_of<Reads::even>(vectors);
#endif
  static_cast<void>(reads);
  return tiles_of<Reads::packed>(vectors);
}

/// Chooses how A is read. Elements of A are multiplied in place if A is unsigned and B is signed without a zero point.
Reads choose_reads(const ByteProduct& g) {
#if defined(__AVX512VNNI__)
  const bool runs = g.runs.point != nullptr;
  const int64_t depth = runs ? g.runs.depth : g.k;
  const bool lies = (runs || g.a_col == 1) && depth % 4 == 0 && depth >= 8;
  if (lies && !g.signed_a && g.signed_b && g.b_zero == nullptr && g.a_zero_step == 0)
    return runs ? Reads::runs : Reads::rows;
#endif
  static_cast<void>(g);
  return Reads::packed;
}

/// The terms of the correction for a panel of columns.
struct ColumnTerms {
  int32_t zeros[kByteCols] = {}, terms[kByteCols] = {};
  /// Reads the terms of columns from `first` on.
  void read(const ByteProduct& g, int64_t first) {
    const auto* const packed = static_cast<const int32_t*>(g.packed_b) + g.packed_from;
    const int32_t moved = g.signed_b ? 128 : 0;
    for (int64_t c = 0; c < kByteCols && first + c < g.n; ++c) {
      zeros[c] = byte_at(g.b_zero, (first + c) * g.b_zero_step, g.signed_b) + moved;
      terms[c] = static_cast<int32_t>(packed[first + c] - g.k * zeros[c]);
    }
  }
};

/// The terms of the correction for the rows of a block of packed A.
struct RowTerms {
  int32_t sums[kByteRowBlock], zeros[kByteRowBlock];
};

/// The tiles of a product (see BlockWalk). Their sums become elements of C.
class ByteEnds {
 public:
  using Tile = ByteTile;
  /// `c` is the address of element (row, col) of C. `terms` are those of packed rows from `row` on.
  ByteEnds(const ByteProduct& g, int32_t* c, int64_t row, int64_t col, const RowTerms& terms)
      : g_(g), c_(c), row_(row), col_(col), terms_(terms), zero_(byte_at(g.a_zero, 0, false)) {}

  static const ByteTileFn* tiles(Reads reads, int vectors, int64_t) { return tiles_for(reads, vectors); }

  void columns(ByteTile& t, int64_t col, int64_t cols) {
    const int64_t panel = col / kByteCols * kByteCols;
    if (panel != panel_) columns_.read(g_, panel);
    panel_ = panel;
    at_ = c_ + (col - col_);
    t.cols = cols, t.c_row = g_.c_row, t.zero = zero_;
    t.col_terms = columns_.terms + (col - panel), t.col_zeros = columns_.zeros + (col - panel);
  }

  void rows(ByteTile& t, int64_t row) const {
    t.c = at_ + (row - row_) * g_.c_row;
    t.row_sums = terms_.sums + (row - row_), t.row_zeros = terms_.zeros + (row - row_);
  }

 private:
  const ByteProduct& g_;
  int32_t *const c_, *at_ = nullptr;
  const int64_t row_, col_;
  const RowTerms& terms_;
  const int32_t zero_;  // of A in place
  int64_t panel_ = -1;
  ColumnTerms columns_;
};

/// A run of a product: cuts rows and columns, and reports finished tiles.
class ByteRun {
 public:
  ByteRun(const ByteProduct& g, const ProductScratch& s)
      : g_(g), s_(s), quads_(byte_quads(g.k)), a_(g, s, choose_reads(g), quads_ * kHalves * kWord) {}

  void rows(int64_t begin, int64_t end) {
    const RowCut blocks(begin, end, byte_rows_at_once(g_.n, g_.k, kHalves * kWord));
    for (int64_t i = 0; i < blocks.tiles && !stop_requested(); ++i) {
      const RowCut cut(blocks.row(i), blocks.row(i + 1), kTileRows);
      a_.begin(cut);
      for (int64_t tile = 0; tile < cut.tiles && a_.reads() == Reads::packed; ++tile) pack(tile);
      multiply();
    }
  }

 private:
  using Rows = RowsOfA<ByteProduct, std::uint8_t>;

  void pack(int64_t tile) {
    const RowCut& cut = a_.cut();
    const int64_t first = cut.row(tile) - cut.begin, past = cut.row(tile + 1) - cut.begin;
    const std::uint8_t flip = g_.signed_a ? 0 : 0x80;
    for (int64_t r = first; r < past; ++r) {
      terms_.sums[r] = 0;
      terms_.zeros[r] = byte_at(g_.a_zero, (cut.begin + r) * g_.a_zero_step, g_.signed_a) - (g_.signed_a ? 0 : 128);
    }
    std::byte* const to = a_.packed(tile);
    a_.template pack<16>(tile,
                         [&](const std::uint8_t* const* from, int64_t step, int64_t rows, int64_t n, int64_t done) {
                           const std::uint8_t* side_by_side[kPanelRows];
                           for (int64_t r = 0; r < rows; ++r) {
                             side_by_side[r] = step == 1 ? from[r] : copied(from[r], step, n, r);
                             terms_.sums[first + r] += sum_of(side_by_side[r], n, g_.signed_a);
                           }
                           pack_rows(side_by_side, rows, n, flip, to + done / 4 * rows * kHalves * kWord);
                         });
  }

  const std::uint8_t* copied(const std::uint8_t* from, int64_t step, int64_t n, int64_t place) const {
    auto* const to = reinterpret_cast<std::uint8_t*>(s_.row) + place * n;
    for (int64_t p = 0; p < n; ++p) to[p] = from[p * step];
    return to;
  }

  Panels panels() const {
    const int64_t cols = g_.packed_cols > 0 ? g_.packed_cols : g_.n;
    const auto* const at =
        reinterpret_cast<const std::byte*>(static_cast<const int32_t*>(g_.packed_b) + byte_cols(cols));
    return {at + g_.packed_from * quads_ * 4, quads_ * kByteCols * 4, kByteCols * 4, g_.n};
  }

  /// Multiplies a block of rows, some columns at a time.
  void multiply() {
    const RowCut& cut = a_.cut();
    const bool passes = g_.c == nullptr, whole_rows = g_.on_tile != nullptr && g_.on_tile->whole_rows;
    const int64_t first = g_.begin_col, past = g_.end_col == 0 ? g_.n : g_.end_col;
    const int vectors = a_.reads() == Reads::packed && cut.highest() <= kNarrowRows ? 4 : 2;
    if (passes) *g_.on_tile->result = g_.passed;
    int32_t* const c = passes ? g_.passed : g_.c + (cut.begin - g_.c_first) * g_.c_row;
    for (int64_t j0 = first; j0 < past && !stop_requested(); j0 += kByteColBlock) {
      const int64_t j1 = min64(past, j0 + kByteColBlock);
      ByteEnds ends(g_, c, cut.begin, passes && !whole_rows ? j0 : 0, terms_);
      BlockWalk<Rows, ByteEnds>(a_, panels(), quads_ / a_.taps(), ends).columns(j0, j1, vectors, cut.tiles > 1);
      if (!whole_rows) report(j0, j1);
    }
    if (whole_rows) report(0, g_.n);
  }

  void report(int64_t j0, int64_t j1) const {
    if (g_.on_tile == nullptr || stop_requested()) return;
    const RowCut& cut = a_.cut();
    (*g_.on_tile)(cut.begin, cut.begin + cut.rows, g_.first_col + j0, g_.first_col + j1);
  }

  const ByteProduct& g_;
  const ProductScratch& s_;
  const int64_t quads_;
  Rows a_;
  RowTerms terms_;
};

}  // namespace

void gemm_i8_packed(const ByteProduct& g, int64_t begin, int64_t end, const ProductScratch& s) noexcept {
  ByteRun(g, s).rows(begin, end);
}

void gemm_i8_direct(const GemmCall& g, bool signed_a, bool signed_b, int64_t begin, int64_t end) noexcept {
  if (signed_a) {
    signed_b ? rows_of<std::int8_t, std::int8_t>(g, begin, end) : rows_of<std::int8_t, std::uint8_t>(g, begin, end);
  } else {
    signed_b ? rows_of<std::uint8_t, std::int8_t>(g, begin, end) : rows_of<std::uint8_t, std::uint8_t>(g, begin, end);
  }
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
