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
      nullptr;  ///< packed like the numbers, or null. With neither, zero is the middle of the range
};

/// to[i] = (number - zero) * scale, `count` of them.
void unpack_row(const PackedRow& row, float* to) noexcept;

}  // namespace frazil::kernel
