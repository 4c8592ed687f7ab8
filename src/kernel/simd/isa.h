#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace frazil::kernel {

/// Instruction sets for which kernels are compiled: base for any machine; on x86-64 avx2, which means AVX2, FMA and
/// F16C, and avx512, which adds AVX-512 F, BW, DQ and VL; on AArch64 neon, which every such machine has.
enum class Isa : std::uint8_t { base, avx2, avx512, neon };

std::string_view name_of(Isa isa);
/// Floats of a vector.
constexpr int lanes_of(Isa isa) { return isa == Isa::avx512 ? 16 : isa == Isa::avx2 ? 8 : 4; }
/// Of any machine.
std::optional<Isa> isa_from_name(std::string_view name);

/// Those that this build contains, narrowest first. Each includes the instructions of those before it.
std::span<const Isa> isas();

/// The widest one that this build contains and this machine supports.
Isa best_isa();

/// The one used by kernel look-ups (tile_fn, ...): best_isa() unless forced.
Isa current_isa();

/// Changes current_isa() for later look-ups; functions already looked up stay valid. One that this build lacks, or
/// that is wider than best_isa(), means best_isa(). Thread-safe.
void force_isa(Isa isa);

/// Whether products of bytes may use instructions that sum four of them, AVX-512 VNNI or Arm's dot products, with the
/// widest instruction set: where the machine has them, unless forbidden. Thread-safe.
bool uses_byte_dot();
void allow_byte_dot(bool allowed);

/// The same for products of bf16 that sum two of them: AVX-512 BF16.
bool uses_bf16_dot();
void allow_bf16_dot(bool allowed);

}  // namespace frazil::kernel
