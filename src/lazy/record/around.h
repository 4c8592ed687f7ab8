#pragma once

#include <functional>

namespace frazil::lazy {

/// What an interpreter does that has one lock for all of its threads: that lock guards recorded values, and other
/// threads have it while programs run.
struct Around {
  /// Whether the calling thread has the lock.
  bool (*locked)();
  /// Calls `work` without the lock. Until it returns, `cancel` makes it end soon, on any thread and in signal handlers.
  /// May throw once it has the lock again.
  void (*unlocked)(const std::function<void()>& work, const std::function<void()>& cancel);
};
/// For the process, before anything runs.
void set_around(const Around& around);

/// Whether this thread has the lock of an interpreter.
bool locked();
/// Calls `work`, without the lock if this thread has it.
void unlocked(const std::function<void()>& work, const std::function<void()>& cancel);

}  // namespace frazil::lazy
