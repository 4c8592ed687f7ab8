#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace frazil::kernel {

/// Instruction sets for which the kernels are compiled. avx2 means AVX2, FMA and F16C; avx512 means AVX-512 F, BW, DQ
/// and VL on top. Each includes the ones before it. Outside of x86-64 only base exists.
enum class Isa : std::uint8_t { base, avx2, avx512 };

std::string_view name_of(Isa isa);
std::optional<Isa> isa_from_name(std::string_view name);

/// The widest one that this build contains and this machine runs.
Isa best_isa();

/// The one that kernel look-ups (tile_fn, ...) choose from: best_isa() unless forced.
Isa current_isa();

/// Changes current_isa() for later look-ups; functions already looked up stay valid. More than best_isa() means
/// best_isa(). Safe from any thread.
void force_isa(Isa isa);

}  // namespace frazil::kernel
