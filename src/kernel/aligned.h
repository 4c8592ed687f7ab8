#pragma once

#include <cstddef>
#include <cstdint>

namespace frazil::kernel {

/// The first place from `p` on that is a multiple of 64 bytes, where scratch memory begins.
inline float* aligned(void* p) {
  constexpr std::uintptr_t kLine = 64;
  const std::uintptr_t gap = -reinterpret_cast<std::uintptr_t>(p) & (kLine - 1);
  return reinterpret_cast<float*>(static_cast<std::byte*>(p) + gap);
}

}  // namespace frazil::kernel
