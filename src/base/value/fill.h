#pragma once

#include <cstddef>
#include <span>

namespace frazil {

/// Returns whether FRAZIL_FILL is set.
bool fills_unwritten();
/// Fills memory that must be written before it is read with the byte of FRAZIL_FILL. Does nothing if that is not set.
void fill_unwritten(std::span<std::byte> bytes);

}  // namespace frazil
