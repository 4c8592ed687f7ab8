#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace frazil::govern {

/// A tenant as decisions know it. Numbers are equal for equal names in a process; 0 is a caller without a tenant.
struct TenantRef {
  std::string_view name = {};
  std::uint32_t number = 0;
};

/// The permits of one hook for one subject, such as the runs of a served version, by tenant. A permit holds for the
/// edition of the policy that gave it: see Governor::in_force(). Tenants whose numbers differ by a multiple of kSlots
/// share a slot, which holds the latest permit. Thread-safe without locks.
class KeptDecisions {
 public:
  static constexpr std::size_t kSlots = 64;

  bool permits(std::uint32_t edition, std::uint32_t tenant) const noexcept {
    return edition != 0 && slots_[tenant % kSlots].load(std::memory_order_acquire) == word(edition, tenant);
  }
  void permit(std::uint32_t edition, std::uint32_t tenant) noexcept {
    slots_[tenant % kSlots].store(word(edition, tenant), std::memory_order_release);
  }
  /// Remembers that the input of a decision is in the log, whether or not its permit is kept.
  bool is_noted(std::uint32_t edition, std::uint32_t tenant) const noexcept {
    return noted_[tenant % kSlots].load(std::memory_order_acquire) == word(edition, tenant);
  }
  void note(std::uint32_t edition, std::uint32_t tenant) noexcept {
    noted_[tenant % kSlots].store(word(edition, tenant), std::memory_order_release);
  }

 private:
  static std::uint64_t word(std::uint32_t edition, std::uint32_t tenant) {
    return std::uint64_t{edition} << 32U | tenant;
  }
  std::array<std::atomic<std::uint64_t>, kSlots> slots_ = {}, noted_ = {};
};

}  // namespace frazil::govern
