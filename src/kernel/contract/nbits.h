#pragma once

#include <cstdint>

namespace frazil::kernel {

/// A row of packed numbers of 2, 4 or 8 bits, lowest bits first, in blocks that share a scale and a zero point.
struct PackedRow {
  int bits = 4;  ///< 2, 4 or 8
  std::int64_t count = 0, block = 0;
  const std::uint8_t* numbers = nullptr;
  const float* scales = nullptr;  ///< one per block
  const float* zeros = nullptr;   ///< one per block, or null
  const std::uint8_t* packed_zeros =
      nullptr;  ///< packed like the numbers, or null; if `zeros` is null too, zero is the middle of the range
};

/// Computes to[i] = (number - zero) * scale for `count` numbers.
void unpack_row(const PackedRow& row, float* to) noexcept;

/// A product C[m, n] = A B + bias, where column j of B is row j of packed numbers. The rows of numbers are adjacent.
struct NBitsProduct {
  PackedRow column;  ///< the first column; `count` is K, a multiple of `block`
  std::int64_t m = 0, n = 0;
  const float* bias = nullptr;  ///< one per column, or null
  float* c = nullptr;
  std::int64_t c_row = 0;
};

/// Returns whether nbits_product() supports such columns: 4 bits, blocks of 32, 64 or a multiple of 128, and AVX-512.
bool has_nbits_product(const PackedRow& column) noexcept;
/// The arranged rows of A that nbits_product() reads: kNBitsArranged floats for each kNBitsStep.
inline constexpr std::int64_t kNBitsStep = 128, kNBitsArranged = 144;
inline std::int64_t nbits_arranged(std::int64_t m, std::int64_t k) {
  return m * ((k + kNBitsStep - 1) / kNBitsStep) * kNBitsArranged;
}
void nbits_arrange(const float* a, std::int64_t m, std::int64_t k, float* to) noexcept;
/// nbits_product() computes columns [begin, end); its bits do not depend on the range. `room` has
/// nbits_scratch_floats() floats.
inline constexpr std::int64_t kNBitsColumns = 32;
inline std::int64_t nbits_scratch_floats(const PackedRow& column) {
  return kNBitsColumns * (column.count / column.block + 128);
}
void nbits_product(const NBitsProduct& p, const float* arranged, std::int64_t begin, std::int64_t end,
                   float* room) noexcept;

}  // namespace frazil::kernel
