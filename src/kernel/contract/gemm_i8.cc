#include "kernel/contract/gemm_i8.h"

#include <algorithm>
#include <cstring>

#include "base/thread/poll_throttle.h"
#include "kernel/contract/gemm_i8.simd.h"
#include "kernel/simd/aligned.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;
using std::uint8_t;

constexpr int64_t kFewRows = 4;                    ///< with fewer rows, packing B does not pay
constexpr int64_t kChunkBytes = int64_t{1} << 20;  ///< bytes of a B that is packed within the call

/// Returns the number of columns of B that a call packs at a time.
int64_t chunk_cols(int64_t k, int64_t n) {
  const int64_t most = kChunkBytes / (4 * byte_quads(k) + 4) / kByteCols * kByteCols;
  return std::min(byte_cols(n), std::max(most, kByteCols));
}

/// Packs four rows of a panel, of which `depth` exist, as [column][row].
void pack_quad(const uint8_t* b, int64_t b_row, int64_t b_col, int64_t depth, int64_t cols, uint8_t flip, uint8_t* to) {
  if (b_row == 1 && depth == 4) {
    for (int64_t c = 0; c < cols; ++c) std::memcpy(to + 4 * c, b + c * b_col, 4);
    for (int64_t i = 0; i < 4 * cols; ++i) to[i] ^= flip;
    return;
  }
  for (int64_t t = 0; t < depth; ++t) {
    const uint8_t* from = b + t * b_row;
    if (b_col == 1) {
      for (int64_t c = 0; c < cols; ++c) to[4 * c + t] = from[c] ^ flip;
    } else {
      for (int64_t c = 0; c < cols; ++c) to[4 * c + t] = from[c * b_col] ^ flip;
    }
  }
}

void direct(const GemmCall& g, bool signed_a, bool signed_b, int64_t begin, int64_t end) {
  FRAZIL_DISPATCH(gemm_i8_direct(g, signed_a, signed_b, begin, end));
}

ByteProduct product_of(const GemmCall& g, bool signed_a, bool signed_b) {
  return {.n = g.n,
          .k = g.k,
          .signed_a = signed_a,
          .signed_b = signed_b,
          .a = g.a,
          .a_row = g.a_row,
          .a_col = g.a_col,
          .packed_b = g.packed_b,
          .begin_col = g.first_col,
          .end_col = g.past_col,
          .a_zero = g.a_zero,
          .b_zero = g.b_zero,
          .a_zero_step = g.a_zero_step,
          .b_zero_step = g.b_zero_step,
          .c = static_cast<std::int32_t*>(g.c),
          .c_row = g.c_row,
          .on_tile = g.on_tile,
          .passed = static_cast<std::int32_t*>(g.passed)};
}

/// Computes columns [first, past), packing some columns of B at a time.
void by_chunks(const GemmCall& g, const ByteProduct& all, int64_t first, int64_t past, int64_t begin, int64_t end,
               std::byte* scratch) {
  const int64_t chunk = chunk_cols(g.k, g.n);
  std::byte* const packed = scratch + byte_product_scratch(g.k, 0);
  const bool reports = all.on_tile != nullptr && (chunk >= past - first || !all.on_tile->whole_rows);
  for (int64_t j = first; j < past && !stop_requested(); j += chunk) {
    ByteProduct part = all;
    part.n = std::min(chunk, past - j);
    part.begin_col = part.end_col = 0;
    part.first_col = j;
    part.packed_b = packed;
    if (all.b_zero != nullptr) part.b_zero = static_cast<const std::byte*>(all.b_zero) + j * g.b_zero_step;
    if (all.c != nullptr) part.c += j;
    if (!reports) part.on_tile = nullptr;
    byte_pack_b(g.k, part.n, static_cast<const std::byte*>(g.b) + j * g.b_col, g.b_row, g.b_col, all.signed_b, packed);
    byte_product(part, begin, end, scratch);
  }
  if (all.on_tile != nullptr && !reports) (*all.on_tile)(begin, end, first, past);
}

/// Returns columns [first, past) of g as a separate product.
GemmCall columns_of(const GemmCall& g, int64_t first, int64_t past) {
  GemmCall part = g;
  part.n = past - first;
  part.b = static_cast<const std::byte*>(g.b) + first * g.b_col;
  part.c = static_cast<std::int32_t*>(g.c) + first;
  if (g.b_zero != nullptr) part.b_zero = static_cast<const std::byte*>(g.b_zero) + first * g.b_zero_step;
  return part;
}

/// Computes a few rows at a time of a C that is not stored.
void direct_passing(const GemmCall& g, bool signed_a, bool signed_b, int64_t first, int64_t past, int64_t begin,
                    int64_t end) {
  GemmCall part = g;
  part.c = g.passed;
  *g.on_tile->result = static_cast<std::int32_t*>(g.passed) + first;
  for (int64_t i = begin; i < end && !stop_requested(); i += kFewRows) {
    const int64_t last = std::min(end, i + kFewRows);
    part.a = static_cast<const std::byte*>(g.a) + i * g.a_row;
    if (g.a_zero != nullptr) part.a_zero = static_cast<const std::byte*>(g.a_zero) + i * g.a_zero_step;
    direct(columns_of(part, first, past), signed_a, signed_b, 0, last - i);
    (*g.on_tile)(i, last, first, past);
  }
}

}  // namespace

std::size_t byte_packed_b_bytes(int64_t k, int64_t n) noexcept {
  return static_cast<std::size_t>(byte_cols(n) * (4 * byte_quads(k) + static_cast<int64_t>(sizeof(std::int32_t))));
}

namespace {

/// Packs panels of B. fill(p, depth, j, cols, quad) writes rows [p, p + depth) and columns [j, j + cols).
template <class Fill>
void pack_panels(int64_t k, int64_t n, void* packed, Fill fill) {
  auto* sums = static_cast<std::int32_t*>(packed);
  auto* to = reinterpret_cast<uint8_t*>(sums + byte_cols(n));
  const int64_t panel = byte_quads(k) * kByteCols * 4;
  PollThrottle throttle;
  for (int64_t j = 0; j < n; j += kByteCols, to += panel) {
    if (throttle.stop(panel)) return;
    const int64_t cols = std::min(kByteCols, n - j);
    std::int32_t own[kByteCols] = {};
    for (int64_t p = 0; p < k; p += 4) {
      uint8_t quad[kByteCols * 4] = {};
      fill(p, std::min<int64_t>(4, k - p), j, cols, quad);
      for (int64_t c = 0; c < kByteCols; ++c)
        own[c] += quad[4 * c] + quad[4 * c + 1] + quad[4 * c + 2] + quad[4 * c + 3];
      std::memcpy(to + p * kByteCols, quad, sizeof quad);
    }
    std::memcpy(sums + j, own, sizeof own);
  }
}

}  // namespace

void byte_pack_b(int64_t k, int64_t n, const void* b, int64_t b_row, int64_t b_col, bool signed_b,
                 void* packed) noexcept {
  const uint8_t flip = signed_b ? 0x80 : 0;
  pack_panels(k, n, packed, [&](int64_t p, int64_t depth, int64_t j, int64_t cols, uint8_t* quad) {
    pack_quad(static_cast<const uint8_t*>(b) + p * b_row + j * b_col, b_row, b_col, depth, cols, flip, quad);
  });
}

void byte_pack_taps(int64_t channels, int64_t taps, int64_t n, const void* w, bool signed_w, void* packed) noexcept {
  const int64_t k = channels * taps;
  if (taps == 1) return byte_pack_b(k, n, w, 1, k, signed_w, packed);
  const uint8_t flip = signed_w ? 0x80 : 0;
  pack_panels(k, n, packed, [&](int64_t p, int64_t depth, int64_t j, int64_t cols, uint8_t* quad) {
    for (int64_t t = 0; t < depth; ++t) {
      const auto* const from = static_cast<const uint8_t*>(w) + (p + t) % channels * taps + (p + t) / channels;
      for (int64_t c = 0; c < cols; ++c) quad[4 * c + t] = from[(j + c) * k] ^ flip;
    }
  });
}

void byte_pack_lines(int64_t channels, int64_t kernel_h, int64_t kernel_w, int64_t line, int64_t n, const void* w,
                     bool signed_w, void* packed) noexcept {
  const uint8_t flip = signed_w ? 0x80 : 0;
  const int64_t taps = kernel_h * kernel_w;
  pack_panels(kernel_h * line, n, packed, [&](int64_t p, int64_t depth, int64_t j, int64_t cols, uint8_t* quad) {
    for (int64_t t = 0; t < depth; ++t) {
      const int64_t row = (p + t) / line, at = (p + t) % line, tap = row * kernel_w + at / channels;
      const auto* const from = static_cast<const uint8_t*>(w) + at % channels * taps + tap;
      for (int64_t c = 0; c < cols; ++c)
        quad[4 * c + t] = (at < kernel_w * channels ? from[(j + c) * channels * taps] : uint8_t{0}) ^ flip;
    }
  });
}

std::size_t byte_passed_bytes(int64_t n, int64_t k) noexcept {
  const int64_t rows = std::max(byte_rows_at_once(n, k), byte_rows_at_once(chunk_cols(k, n), k));
  return static_cast<std::size_t>(std::max(rows, kFewRows) * n) * sizeof(std::int32_t);
}

std::size_t gemm_i8_passed_bytes(int64_t, int64_t n, int64_t k) noexcept { return byte_passed_bytes(n, k); }

namespace {

/// The parts of the scratch of byte_product().
struct Parts {
  ProductScratch at;
  int64_t bytes;
  Parts(int64_t k, int64_t taps, void* memory) {
    Carver carver(memory);
    at.a = carver.take<std::byte>(byte_block_bytes(k));
    at.at = carver.take<const std::byte*>(kByteRowBlock * taps);
    at.row = carver.take<std::byte>(kPanelRows * k);
    bytes = carver.used() + kLineBytes;
  }
};

void run(const ByteProduct& g, int64_t begin, int64_t end, const ProductScratch& s) {
#if defined(__x86_64__)
  if (features().byte_dot) return isa_avx512vnni::gemm_i8_packed(g, begin, end, s);
#elif defined(__aarch64__)
  if (features().byte_dot) return isa_neondot::gemm_i8_packed(g, begin, end, s);
#endif
  FRAZIL_DISPATCH(gemm_i8_packed(g, begin, end, s));
}

}  // namespace

std::size_t byte_product_scratch(int64_t k, int64_t taps) noexcept {
  return static_cast<std::size_t>(Parts(k, taps, nullptr).bytes);
}

void byte_product(const ByteProduct& g, int64_t begin, int64_t end, void* scratch) noexcept {
  if (begin >= end || g.n <= 0) return;
  run(g, begin, end, Parts(g.k, g.runs.point != nullptr ? g.runs.taps : 0, scratch).at);
}

std::size_t gemm_i8_scratch(int64_t m, int64_t n, int64_t k) noexcept {
  // It is not known here whether B is packed.
  const std::size_t chunk = m < kFewRows ? 0 : byte_packed_b_bytes(k, chunk_cols(k, n));
  return byte_product_scratch(k, 0) + chunk;
}

void gemm_i8_rows(const GemmCall& g, bool signed_a, bool signed_b, int64_t begin, int64_t end, void* scratch) noexcept {
  if (begin >= end || g.n <= 0) return;
  if (g.packed_b != nullptr && g.k > 0) {
    return byte_product(product_of(g, signed_a, signed_b), begin, end, scratch);
  }
  const int64_t first = g.first_col, past = g.past_col == 0 ? g.n : g.past_col;
  if (end - begin >= kFewRows && g.k > 0) {
    auto* const memory = static_cast<std::byte*>(scratch);
    return by_chunks(g, product_of(g, signed_a, signed_b), first, past, begin, end, memory);
  }
  if (g.c == nullptr) return direct_passing(g, signed_a, signed_b, first, past, begin, end);
  direct(columns_of(g, first, past), signed_a, signed_b, begin, end);
  if (g.on_tile != nullptr) (*g.on_tile)(begin, end, first, past);
}

}  // namespace frazil::kernel
