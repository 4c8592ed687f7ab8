#pragma once

#include <cstdint>
#include <span>

#include "lazy/record/node.h"

namespace frazil::lazy {

/// Computes the values. Runs only the nodes that they depend on, and keeps the results that the user's program still
/// holds. In an instance of a batch (lazy/batch/batch.h), waits until the batch has computed them.
Status run(std::span<const Ref> wanted);
inline Status run(const Ref& wanted) { return run(std::span(&wanted, 1)); }

/// The instances of a batch, which share a thread. An instance that needs values waits until all instances wait.
class Instances {
 public:
  virtual ~Instances() = default;
  /// Waits until the values are computed. Returns the fault if one of them could not be computed.
  virtual Status await(std::span<const Ref> wanted) = 0;
  /// Returns the instances of which one runs on this thread; null if there are none.
  static Instances* current();
  /// Makes `with` the current instances. Returns the former ones.
  static Instances* exchange(Instances* with);
};

/// Adds a call whose results go to its function's table. It runs before the next run, together with all others of its
/// kind.
void remember_later(const Handle& call);
/// Returns the calls that this thread has added, and removes them.
std::vector<Handle> take_remembered();

/// Counts a call whose results came from a table.
void count_recalled();
/// Returns the number of these calls on this thread.
std::uint64_t recalled();

}  // namespace frazil::lazy
