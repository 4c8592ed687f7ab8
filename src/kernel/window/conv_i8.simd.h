#pragma once

// Declarations shared by the translation units of convolutions of bytes. This header is compiled for several
// instruction sets.

#include <cstdint>

#include "kernel/simd/isa_list.h"

namespace frazil::kernel {

/// The operands of sums over lines with one factor each: sum i adds at[t][i] * factor t for all taps t. Lines may be
/// read 32 elements past their end.
struct ByteTaps {
  static constexpr std::int64_t kMaxTaps = 64;
  std::int64_t pairs = 0;
  const std::int16_t* at[kMaxTaps];
  std::int32_t factors[kMaxTaps / 2];  ///< each for two taps, the first one in the lower half
  bool accumulate = false;             ///< adds to the sums that are there
};

/// The operands of a depthwise sum at one position. Each channel adds the products of `pairs` pairs of taps; `at`
/// points to the pixels of the taps.
constexpr std::int64_t kByteChannels = 32;
struct ByteChannels {
  const std::uint8_t* const* at = nullptr;
  const std::int16_t* weights = nullptr;  ///< [group of channels][pair][2 * kByteChannels]; see pair_byte_channels()
  std::int64_t pairs = 0, channels = 0;
  std::int16_t zero = 0;  ///< zero point of pixels
  bool is_signed = false;
};

// byte_taps: computes sums [0, n) of taps
// pair_byte_channels: interleaves the weights of two taps, kByteChannels of each, for byte_channels
// byte_channels: computes sums [0, channels)
#define FRAZIL_X(ns)                                                                                     \
  namespace ns {                                                                                         \
  void byte_taps(std::int32_t* sums, const ByteTaps& taps, std::int64_t n) noexcept;                     \
  void pair_byte_channels(const std::int16_t* a, const std::int16_t* b, std::int16_t* to) noexcept;      \
  void byte_channels(std::int32_t* sums, const ByteChannels& c) noexcept;                                \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X

}  // namespace frazil::kernel
