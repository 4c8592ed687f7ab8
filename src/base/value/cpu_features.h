#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/value/error.h"

namespace frazil {

/// Vector sets for which kernels are compiled. `base` runs on any machine. On x86-64, `avx2` means AVX2, FMA and F16C,
/// and `avx512` adds AVX-512 F, BW, DQ and VL. `neon` runs on every AArch64 machine.
enum class Isa : std::uint8_t { base, avx2, avx512, neon };

std::string_view name_of(Isa isa);
std::optional<Isa> isa_from_name(std::string_view name);

/// Returns the number of floats in a vector.
constexpr int lanes_of(Isa isa) { return isa == Isa::avx512 ? 16 : isa == Isa::avx2 ? 8 : 4; }

/// CPU features that kernels may use: a vector set and extensions of it. Aligned so that its atomic is lock-free.
struct alignas(4) CpuFeatures {
  Isa isa = Isa::base;
  bool byte_dot = false;  ///< sums of four products of bytes: AVX-512 VNNI, or Arm's dot products
  bool bf16_dot = false;  ///< sums of two products of bf16: AVX-512 BF16

  /// Returns the vector set with all its extensions.
  static CpuFeatures all_of(Isa isa);
  /// Returns the features that `machine` has too, without extensions of other vector sets. Returns `machine` if it
  /// lacks the vector set.
  CpuFeatures clamped_to(const CpuFeatures& machine) const;

  bool operator==(const CpuFeatures&) const = default;
};

/// An extension of a vector set. A member of CpuFeatures may stand for extensions of several vector sets.
struct CpuExtension {
  Isa isa;
  std::string_view name;
  bool CpuFeatures::* member;
};
std::span<const CpuExtension> cpu_extensions();

inline constexpr std::string_view kCpuFeaturesForm = "base, avx2, avx512[-vnni][-bf16] or neon[-dotprod]";
/// Parses a vector set and the extensions to leave out, each after a minus: "avx512-vnni-bf16". A bare name means all
/// extensions. The text is valid on any machine. The error describes the expected text.
Result<CpuFeatures> parse_cpu_features(std::string_view text);
/// Returns the text that parse_cpu_features() reads back to the same features.
std::string str(const CpuFeatures& features);

}  // namespace frazil
