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

/// The memory that a session keeps for one plan: arena, growing buffers, scratch. It puts addresses into Values.
class Memory {
 public:
  Memory(RunContext& context, Values& values, const Devices& devices);

  /// For new extents: sizes and places of all pools of the arena.
  Status lay_out_arena();
  /// Before a run: storages that loops swapped go back to their place. Fills all memory if FRAZIL_FILL is set.
  void begin();
  /// A growing storage of at least so many bytes; with `keep` what it holds stays.
  Status ensure(std::uint32_t storage, std::size_t bytes, bool keep = false);
  /// The same with no room for more, for what another plan has made room for: plans that take turns would else double
  /// theirs each time.
  Status ensure_as_much(std::uint32_t storage, std::size_t bytes);
  /// The growing results of a step, as large as their extents say.
  Status ensure_results(const std::vector<SlotId>& slots);
  Status grow(const step::Grow& step);
  Status reserve(const step::Reserve& step);
  void swap(std::uint32_t a, std::uint32_t b) {
    std::swap(values_.base[a], values_.base[b]);
    if (plan_.storages[a].place == Place::growing) std::swap(growing_[a], growing_[b]);
  }
  /// Where the arena has the storage, whatever loops or views made of it.
  std::byte* arena_address(std::uint32_t storage) const;
  /// Scratch memory of at least so many bytes, until the next call. Each use asks for it: where a call is refused, the
  /// memory of earlier ones is gone as well.
  Result<std::byte*> scratch(std::size_t bytes) {
    if (bytes <= scratch_.size()) [[likely]]
      return scratch_.data();
    return larger_scratch(bytes);
  }
  /// Code::limit for a value of so many bytes that passes a limit.
  Status check_size(std::uint32_t storage, std::size_t bytes) const;
  /// Gives everything back.
  void drop();
  DeviceMemory& devices() { return devices_; }
  /// The capacity of growing storage 0, in bytes, as a std::size_t; that of the next lies kCapacityStep bytes behind.
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
  /// A growing storage of `wanted` bytes, of which `bytes` are needed.
  Status grow(std::uint32_t storage, std::size_t bytes, std::size_t wanted, bool keep);
  /// Of memory that stays with the session: `before` bytes of it become `after`.
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
  Sizes sizes_;  // of the value at hand, kept so that steps do not allocate
};

constexpr std::size_t kFewestRows = 16;  ///< that a value has a capacity for once it has grown

/// Bytes of all blocks for so many rows; SIZE_MAX where that is no number.
std::size_t bytes_for(const AxisRows& rows, std::size_t capacity);

/// `make` with twice the rows, or with what is needed where a limit does not allow that.
template <class Make>
auto with_spare(std::size_t needed, std::size_t& capacity, Make make) -> decltype(make(needed)) {
  capacity = std::max(needed > SIZE_MAX / 2 ? needed : 2 * needed, kFewestRows);
  auto made = make(capacity);
  if (made || (made.error().code != Code::limit && made.error().code != Code::out_of_memory)) return made;
  capacity = needed;
  return make(capacity);
}

}  // namespace frazil::exec
