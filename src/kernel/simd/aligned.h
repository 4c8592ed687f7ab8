#pragma once

#include <cstddef>
#include <cstdint>

namespace frazil::kernel {

/// The bytes of a cache line, and the extra bytes to request so that scratch memory can start on one.
inline constexpr std::int64_t kLineBytes = 64;

/// Returns the first address from `p` on that is a multiple of kLineBytes.
inline float* aligned(void* p) {
  const std::uintptr_t gap = -reinterpret_cast<std::uintptr_t>(p) & (kLineBytes - 1);
  return reinterpret_cast<float*>(static_cast<std::byte*>(p) + gap);
}

/// An allocator of arrays that begin on cache lines within scratch memory. With a null base it only counts bytes and
/// returns null pointers. Then `used() + kLineBytes` bytes are enough for the same arrays at any base.
class Carver {
 public:
  explicit Carver(void* base) : base_(static_cast<std::byte*>(base)) {
    if (base_ != nullptr) used_ = reinterpret_cast<std::byte*>(aligned(base_)) - base_;
  }
  template <class T>
  T* take(std::int64_t count) {
    return static_cast<T*>(take_bytes(count * static_cast<std::int64_t>(sizeof(T))));
  }
  void* take_bytes(std::int64_t bytes) {
    void* const p = base_ != nullptr ? base_ + used_ : nullptr;
    used_ += (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
    return p;
  }
  std::int64_t used() const { return used_; }

 private:
  std::byte* base_;
  std::int64_t used_ = 0;
};

}  // namespace frazil::kernel
