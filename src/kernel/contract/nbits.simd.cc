#include "kernel/contract/nbits.simd.h"

#include <algorithm>

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

constexpr std::int64_t kBytes = 16;  ///< bytes unpacked at a time; a block has at least 16 numbers

template <int Bits>
int number_at(const std::uint8_t* numbers, std::int64_t i) {
  constexpr int kPerByte = 8 / Bits;
  return numbers[i / kPerByte] >> (i % kPerByte * Bits) & ((1 << Bits) - 1);
}

/// Unpacks the `count` numbers of a block.
template <int Bits>
void unpack_block(const std::uint8_t* numbers, std::int64_t count, float zero, float scale, float* to) {
  constexpr int kPerByte = 8 / Bits;
  constexpr std::int64_t kNumbers = kBytes * kPerByte;
  std::int64_t i = 0;
  for (; i + kNumbers <= count; i += kNumbers, numbers += kBytes) {
    float parts[kPerByte][kBytes];
    for (int part = 0; part < kPerByte; ++part) {
      for (std::int64_t b = 0; b < kBytes; ++b) {
        const int number = numbers[b] >> (part * Bits) & ((1 << Bits) - 1);
        parts[part][b] = (static_cast<float>(number) - zero) * scale;
      }
    }
    for (std::int64_t b = 0; b < kBytes; ++b) {
      for (int part = 0; part < kPerByte; ++part) to[i + b * kPerByte + part] = parts[part][b];
    }
  }
  for (std::int64_t k = 0; i < count; ++i, ++k) {
    to[i] = (static_cast<float>(number_at<Bits>(numbers, k)) - zero) * scale;
  }
}

template <int Bits>
void unpack(const PackedRow& row, float* to) {
  constexpr float kMiddle = 1 << (Bits - 1);
  const std::uint8_t* numbers = row.numbers;
  for (std::int64_t block = 0, i = 0; i < row.count; ++block, i += row.block) {
    const float zero = row.zeros != nullptr          ? row.zeros[block]
                       : row.packed_zeros != nullptr ? static_cast<float>(number_at<Bits>(row.packed_zeros, block))
                                                     : kMiddle;
    unpack_block<Bits>(numbers, std::min(row.block, row.count - i), zero, row.scales[block], to + i);
    numbers += row.block * Bits / 8;
  }
}

}  // namespace

void unpack_row_run(const PackedRow& row, float* to) noexcept {
  if (row.bits == 2) return unpack<2>(row, to);
  if (row.bits == 4) return unpack<4>(row, to);
  unpack<8>(row, to);
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
