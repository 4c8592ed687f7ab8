#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// The heap of this executable: operator new and delete are replaced in heap_test.cc, so that allocations can be counted
// and refused.
namespace frazil::test {

/// What operator new gave and operator delete has not got back, on all threads.
struct Live {
  std::int64_t blocks = 0, bytes = 0;
  bool operator==(const Live&) const = default;
};
Live live_now();

enum class Refusal : std::uint8_t {
  never,
  once,           ///< one allocation fails, those after it work: a large one that did not fit
  from_there_on,  ///< so do all after it, those of the error path too: nothing is left
};

/// While it lives, allocations of this thread count from 0 and the one with the number `at` is refused: bad_alloc, or
/// null from the nothrow forms. One at a time.
class Refusing {
 public:
  explicit Refusing(Refusal refusal, std::uint64_t at = 0);
  ~Refusing();
  Refusing(const Refusing&) = delete;
  Refusing& operator=(const Refusing&) = delete;

  std::uint64_t asked() const;    ///< allocations so far
  std::uint64_t refused() const;  ///< of those
};

/// While it lives, notes where in the program this thread allocates.
class Sites {
 public:
  Sites();
  ~Sites();
  Sites(const Sites&) = delete;
  Sites& operator=(const Sites&) = delete;

  /// Per place, told apart by its callers, the number of the first allocation made there; ascending.
  std::span<const std::uint64_t> first_allocations() const;
};

}  // namespace frazil::test
