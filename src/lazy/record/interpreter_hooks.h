#pragma once

#include <functional>

namespace frazil::lazy {

/// Hooks of an interpreter with one lock for all of its threads. The lock guards recorded values. Other threads may
/// hold it while programs run.
struct InterpreterHooks {
  /// Returns whether the calling thread holds the lock.
  bool (*locked)();
  /// Calls `work` without the lock. Until it returns, `cancel` makes it end soon; any thread and signal handlers may
  /// call `cancel`. May throw after it has the lock again.
  void (*unlocked)(const std::function<void()>& work, const std::function<void()>& cancel);
};
/// Sets the hooks of the process. Call it before anything runs.
void set_interpreter_hooks(const InterpreterHooks& around);

/// Returns whether this thread holds the lock of an interpreter.
bool locked();
/// Calls `work`. Releases the interpreter's lock meanwhile if this thread holds it.
void unlocked(const std::function<void()>& work, const std::function<void()>& cancel);

}  // namespace frazil::lazy
