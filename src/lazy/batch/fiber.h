#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace frazil::lazy {

/// Stacks that fibers of a thread use one after another; some are kept when nobody uses them.
class Stacks {
 public:
  explicit Stacks(std::size_t bytes);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

 private:
  friend class Fiber;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A function that can be left before its end and gone on with later, on the thread that began it. Sanitizers are told.
class Fiber {
 public:
  /// `body` must not throw. Throws std::bad_alloc without memory for a stack.
  Fiber(Stacks& stacks, std::function<void()> body);
  /// Precondition: it has ended, or has not begun.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs until the function suspends or ends.
  void resume();
  bool ended() const;
  /// The fiber that runs; null outside of fibers.
  static Fiber* current();
  /// Leaves the current fiber until it is resumed.
  static void suspend();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::lazy
