#pragma once

#include <cstddef>
#include <cstdint>

namespace frazil::kernel {

/// Extra bytes to request so that scratch memory can start on a cache line.
inline constexpr std::int64_t kLineBytes = 64;

/// The first address from `p` on that is a multiple of kLineBytes.
inline float* aligned(void* p) {
  const std::uintptr_t gap = -reinterpret_cast<std::uintptr_t>(p) & (kLineBytes - 1);
  return reinterpret_cast<float*>(static_cast<std::byte*>(p) + gap);
}

}  // namespace frazil::kernel
