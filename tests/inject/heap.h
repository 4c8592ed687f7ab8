#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// The heap of this executable: heap_test.cc replaces operator new and delete, so that allocations can be counted and
// made to fail.
namespace frazil::test {

/// Memory allocated and not deleted, on all threads.
struct Live {
  std::int64_t blocks = 0, bytes = 0;
  bool operator==(const Live&) const = default;
};
Live live_now();

enum class Refusal : std::uint8_t {
  never,
  once,           ///< one allocation fails, later ones succeed: a large one that did not fit
  from_there_on,  ///< all later ones fail, too, including those of the error path: no memory is left
};

/// During its lifetime, allocations of this thread are counted from 0 and number `at` fails: bad_alloc, or null from
/// the nothrow forms. One at a time.
class Refusing {
 public:
  explicit Refusing(Refusal refusal, std::uint64_t at = 0);
  ~Refusing();
  Refusing(const Refusing&) = delete;
  Refusing& operator=(const Refusing&) = delete;

  std::uint64_t asked() const;    ///< allocations so far
  std::uint64_t refused() const;  ///< failed ones among them
};

/// During its lifetime, records the places in the program where this thread allocates.
class Sites {
 public:
  Sites();
  ~Sites();
  Sites(const Sites&) = delete;
  Sites& operator=(const Sites&) = delete;

  /// For each place, distinguished by its callers, the number of the first allocation there; ascending.
  std::span<const std::uint64_t> first_allocations() const;
};

}  // namespace frazil::test
