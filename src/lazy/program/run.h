#pragma once

#include <cstdint>
#include <span>

#include "lazy/record/node.h"

namespace frazil::lazy {

/// Makes the values there: runs what they depend on, and nothing else; of what runs, the values that the program still
/// holds are kept. In an instance of a batch (lazy/batch/batch.h), waits until the batch has run them.
Status run(std::span<const Ref> wanted);
inline Status run(const Ref& wanted) { return run(std::span(&wanted, 1)); }

/// Instances of a batch have a thread in common: one that needs values waits until all do.
class Instances {
 public:
  virtual ~Instances() = default;
  /// Returns when the values are there, or with the fault of what could not be computed.
  virtual Status await(std::span<const Ref> wanted) = 0;
  /// Those of which one runs on this thread; null: none.
  static Instances* current();
  /// Makes them the current ones; returns those before.
  static Instances* exchange(Instances* with);
};

/// A call whose results go to its function's table: it runs before the next run, with all others of its kind.
void remember_later(const Handle& call);
/// The calls of this thread that wait for that.
std::vector<Handle> take_remembered();

/// A call was answered from a table.
void count_recalled();
/// How often that was so on this thread.
std::uint64_t recalled();

}  // namespace frazil::lazy
