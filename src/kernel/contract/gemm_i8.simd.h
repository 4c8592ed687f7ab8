#pragma once

// Declarations shared by the translation units of products of bytes. This header is compiled for several instruction
// sets: functions defined here have internal linkage.
//
// Internally, A is signed and B unsigned, as the dot product of AVX-512 VNNI requires. Operands of the other sign are
// moved by 128 together with their zero points, which does not change the result. With the zero points az of a and bz
// of b,
//   sum (a - az) (b - bz) = sum a b - bz sum a - az (sum b - k bz).
// Only bytes are summed, and all other terms are computed once per element of C. All sums are exact modulo 2^32.

#include <cstdint>

#include "kernel/contract/gemm_i8.h"
#include "kernel/contract/product.simd.h"
#include "kernel/simd/isa_list.h"

namespace frazil::kernel {

constexpr std::int64_t kByteCols = 32;      ///< columns of a packed B panel, [k / 4][32][4], padded with zeros
constexpr std::int64_t kByteRowBlock = 96;  ///< most rows of A packed at a time
constexpr std::int64_t kByteBlockSize = std::int64_t{3} << 16;  ///< approximate bytes of these rows
constexpr std::int64_t kByteQuadSize = 8;                       ///< most bytes of four packed elements of A

namespace {
/// Returns element i of `bytes`, or 0 if `bytes` is null.
[[gnu::always_inline]] inline std::int32_t byte_at(const void* bytes, std::int64_t i, bool is_signed) {
  if (bytes == nullptr) return 0;
  return is_signed ? static_cast<const std::int8_t*>(bytes)[i] : static_cast<const std::uint8_t*>(bytes)[i];
}
[[gnu::always_inline]] inline std::int64_t byte_quads(std::int64_t k) { return (k + 3) / 4; }
[[gnu::always_inline]] inline std::int64_t byte_cols(std::int64_t n) {
  return (n + kByteCols - 1) / kByteCols * kByteCols;
}
/// Returns the number of rows of A to pack at a time, if four elements take `quad` bytes.
[[gnu::always_inline]] inline std::int64_t byte_row_block(std::int64_t k, std::int64_t quad) {
  const std::int64_t rows = kByteBlockSize / ((byte_quads(k) + 1) * quad) / 12 * 12;
  return rows < 12 ? 12 : rows < kByteRowBlock ? rows : kByteRowBlock;
}
/// Returns the most bytes that these rows take.
[[gnu::always_inline]] inline std::int64_t byte_block_bytes(std::int64_t k) {
  const std::int64_t wide = byte_row_block(k, kByteQuadSize) * kByteQuadSize, narrow = byte_row_block(k, 4) * 4;
  return (wide > narrow ? wide : narrow) * byte_quads(k);
}
/// The columns and rows of a block of C. Its sums stay in a core's cache, and its rows are long for the callback that
/// receives them.
constexpr std::int64_t kByteColBlock = 512;
[[gnu::always_inline]] inline std::int64_t byte_rows_at_once(std::int64_t n, std::int64_t k, std::int64_t quad = 4) {
  constexpr std::int64_t kCachedSums = std::int64_t{3} << 14;
  const std::int64_t cols = n < kByteColBlock ? byte_cols(n) : kByteColBlock;
  const std::int64_t rows = kCachedSums / (cols > 0 ? cols : 1) / 12 * 12, most = byte_row_block(k, quad);
  return rows < 12 ? 12 : rows < most ? rows : most;
}
}  // namespace

// gemm_i8_direct: computes rows [begin, end) of a product whose B is read in place
// gemm_i8_packed: computes rows [begin, end) of a product with a packed B
#define FRAZIL_X(ns)                                                                                                  \
  namespace ns {                                                                                                      \
  void gemm_i8_direct(const GemmCall& g, bool signed_a, bool signed_b, std::int64_t begin, std::int64_t end) noexcept; \
  void gemm_i8_packed(const ByteProduct& g, std::int64_t begin, std::int64_t end, const ProductScratch& s) noexcept; \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#if defined(__x86_64__)
FRAZIL_X(isa_avx512vnni)
#elif defined(__aarch64__)
FRAZIL_X(isa_neondot)
#endif
#undef FRAZIL_X

}  // namespace frazil::kernel
