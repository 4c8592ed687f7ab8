#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "exec/device/device_memory.h"
#include "exec/memory/values.h"
#include "exec/run/run_context.h"
#include "tensor/buffer.h"
#include "tensor/strided.h"

namespace frazil::exec {

/// The memory that a session keeps for one plan: arena, growing buffers and scratch. Writes its addresses into Values.
class Memory {
 public:
  Memory(RunContext& context, Values& values, const Devices& devices);

  /// Lays out all pools of the arena for new extents.
  Status lay_out_arena();
  /// Prepares a run. Restores the addresses of storages that loops swapped, and fills all memory if FRAZIL_FILL is set.
  void begin();
  /// Gives a growing storage at least `bytes` bytes. Keeps its contents if `keep` is set.
  Status ensure(std::uint32_t storage, std::size_t bytes, bool keep = false);
  /// Same as ensure() with `keep`, but without spare capacity. Values that come from another plan use it: if two plans
  /// alternate, spare capacity would double at each change.
  Status ensure_as_much(std::uint32_t storage, std::size_t bytes);
  /// Makes the growing results of a step as large as their extents require.
  Status ensure_results(const std::vector<SlotId>& slots);
  Status grow(const step::Grow& step);
  Status reserve(const step::Reserve& step);
  void swap(std::uint32_t a, std::uint32_t b) {
    std::swap(values_.base[a], values_.base[b]);
    if (plan_.storages[a].place == Place::growing) std::swap(growing_[a], growing_[b]);
  }
  /// Returns the storage's own place in the arena. Values::base may hold another address after a swap or an elided
  /// copy.
  std::byte* arena_address(std::uint32_t storage) const;
  /// Returns scratch memory of at least `bytes` bytes, valid until the next call. Call it before each use: a call that
  /// fails may have freed the earlier memory.
  Result<std::byte*> scratch(std::size_t bytes) {
    if (bytes <= scratch_.size()) [[likely]]
      return scratch_.data();
    return larger_scratch(bytes);
  }
  /// Returns Code::limit if a value of `bytes` bytes exceeds a limit.
  Status check_size(std::uint32_t storage, std::size_t bytes) const;
  /// Releases all memory.
  void drop();
  DeviceMemory& devices() { return devices_; }
  /// Returns the address of the capacity of storage 0, a std::size_t in bytes. The capacity of storage i is i *
  /// kCapacityStep bytes further.
  const std::byte* capacities() const {
    return growing_.empty() ? nullptr : reinterpret_cast<const std::byte*>(&growing_[0].capacity);
  }
  static const std::size_t kCapacityStep;

 private:
  struct Growing {
    Buffer buffer;
    std::size_t capacity = 0;
  };
  Result<std::byte*> larger_scratch(std::size_t bytes);
  /// Reallocates a growing storage to `wanted` bytes, of which `bytes` are needed.
  Status grow(std::uint32_t storage, std::size_t bytes, std::size_t wanted, bool keep);
  /// Checks the arena limit for a change of the memory that the session keeps: `before` bytes of it become `after`
  /// bytes.
  Status check_kept(std::string_view what, std::size_t before, std::size_t after) const;

  RunContext& context_;
  Values& values_;
  const Plan& plan_;
  Buffer arena_, scratch_;
  std::vector<std::size_t> pool_offset_;
  std::vector<Growing> growing_;  // per storage
  std::size_t growing_bytes_ = 0;
  std::vector<std::uint32_t> swapped_;  // storages of the arena
  DeviceMemory devices_;
  Sizes sizes_;  // extents of the current value, kept so that steps do not allocate
};

constexpr std::size_t kMinRows = 16;  ///< smallest capacity, in rows, of a value that has grown

/// Returns the bytes of all blocks with `capacity` rows each; SIZE_MAX on overflow.
std::size_t bytes_for(const AxisRows& rows, std::size_t capacity);

/// Calls `make` with twice the needed rows. Calls it with exactly `needed` rows if a limit or lack of memory prevents
/// that. Sets `capacity` to the rows of the last call.
template <class Make>
auto with_spare(std::size_t needed, std::size_t& capacity, Make make) -> decltype(make(needed)) {
  capacity = std::max(needed > SIZE_MAX / 2 ? needed : 2 * needed, kMinRows);
  auto made = make(capacity);
  if (made || (made.error().code != Code::limit && made.error().code != Code::out_of_memory)) return made;
  capacity = needed;
  return make(capacity);
}

}  // namespace frazil::exec
