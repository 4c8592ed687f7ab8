#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace frazil::lazy {

/// A pool of stacks for the fibers of a thread. Keeps some unused stacks for reuse.
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

/// A function that can suspend itself and is resumed later on the same thread. Reports its stack switches to
/// sanitizers.
class Fiber {
 public:
  /// `body` must not throw. Throws std::bad_alloc if there is no memory for a stack.
  Fiber(Stacks& stacks, std::function<void()> body);
  /// Precondition: the function has ended or has not begun.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs until the function suspends or ends.
  void resume();
  bool ended() const;
  /// Returns the running fiber; null outside of fibers.
  static Fiber* current();
  /// Suspends the current fiber until it is resumed.
  static void suspend();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::lazy
