#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace frazil::kernel {

/// Instruction sets for which kernels are compiled. avx2 means AVX2, FMA and F16C; avx512 adds AVX-512 F, BW, DQ and
/// VL. Each includes the previous ones. Outside of x86-64 only base exists.
enum class Isa : std::uint8_t { base, avx2, avx512 };

std::string_view name_of(Isa isa);
std::optional<Isa> isa_from_name(std::string_view name);

/// The widest one that this build contains and this machine supports.
Isa best_isa();

/// The one used by kernel look-ups (tile_fn, ...): best_isa() unless forced.
Isa current_isa();

/// Changes current_isa() for later look-ups; functions already looked up stay valid. Wider ones than best_isa() mean
/// best_isa(). Thread-safe.
void force_isa(Isa isa);

/// Whether kernels for Isa::avx512 may use VNNI: where the machine has it, unless forbidden. Thread-safe.
bool uses_vnni();
void allow_vnni(bool allowed);

}  // namespace frazil::kernel
