#pragma once

#include <atomic>
#include <csignal>
#include <functional>

#include "python/src/python.h"

namespace frazil::python {

/// Handles Ctrl-C during a run. Python's handler of SIGINT only sets a flag that is checked between byte codes. While
/// this object lives on Python's main thread, the signal also cancels the session's run.
///
/// A handler that wraps Python's is installed on first use and stays. Python's signal.signal() removes it. Therefore
/// the handler is checked again, by a system call, unless the last run ended a few microseconds ago.
class Interruptible {
 public:
  explicit Interruptible(Session& session);
  explicit Interruptible(LiveSession& session);
  explicit Interruptible(Debugger& debugger);
  explicit Interruptible(const std::function<void()>& cancel);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  /// Call after a cancelled run, with the interpreter's lock. Raises the exception of Python's signal handlers. Returns
  /// if there was no signal, or if the handlers raise nothing.
  void raise_pending() const;

 private:
  using Cancel = void (*)(void* session);
  Interruptible(void* session, Cancel cancel);
  static void on_signal(int number, siginfo_t* info, void* context);
  static void install();

  void* session_;
  Cancel cancel_;
  bool main_;
  const Interruptible* before_ = nullptr;
  static std::atomic<const Interruptible*> active;
};

/// Called once, at import.
void remember_main_thread();

}  // namespace frazil::python
