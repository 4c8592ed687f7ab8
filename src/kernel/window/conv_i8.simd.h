#pragma once

// Declarations shared by the translation units of convolutions of bytes. This header is compiled for several
// instruction sets.

#include <cstdint>

#include "kernel/simd/isa_list.h"

namespace frazil::kernel {

/// Sums of products of lines with one factor each: sum i is of at[t][i] * factor t. Lines may be read 32 elements past
/// the last one.
struct ByteTaps {
  static constexpr std::int64_t kMost = 64;
  std::int64_t pairs = 0;
  const std::int16_t* at[kMost];
  std::int32_t factors[kMost / 2];  ///< of two taps, the first one in the lower half
  bool accumulate = false;          ///< onto what is there
};

/// A depthwise sum at one position: for each channel the products of `pairs` pairs of taps, where `at` points to the
/// taps' pixels.
constexpr std::int64_t kByteChannels = 32;
struct ByteChannels {
  const std::uint8_t* const* at = nullptr;
  const std::int16_t* weights = nullptr;  ///< [group of channels][pair][2 * kByteChannels]: by pair_byte_channels()
  std::int64_t pairs = 0, channels = 0;
  std::int16_t zero = 0;  ///< of pixels
  bool is_signed = false;
};

// byte_taps: sums [0, n) of taps
// pair_byte_channels: weights of two taps, kByteChannels of each, as byte_channels reads them
// byte_channels: sums [0, channels)
#define FRAZIL_X(ns)                                                                                     \
  namespace ns {                                                                                         \
  void byte_taps(std::int32_t* sums, const ByteTaps& taps, std::int64_t n) noexcept;                     \
  void pair_byte_channels(const std::int16_t* a, const std::int16_t* b, std::int16_t* to) noexcept;      \
  void byte_channels(std::int32_t* sums, const ByteChannels& c) noexcept;                                \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X

}  // namespace frazil::kernel
