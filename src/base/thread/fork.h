#pragma once

#include <cstdint>

// What keeps the child of a fork() whole. The child has the memory of its parent and of all threads only the one that
// forks: what another thread was changing stays half changed, and what it had locked stays locked.
namespace frazil {

/// A part of the program that no other thread's fork() may cut in two: fork() waits until it has ended, and new ones
/// wait for the fork(). A lock of a Mutex is one. Scopes of one thread may lie inside each other. A thread that forks
/// inside of a scope goes on inside of it in the child.
///
/// fork() waits for 10 seconds at most. If a scope of another thread lasts longer, forks_whole() is false in the child.
class NoFork {
 public:
  NoFork() noexcept { enter(); }
  ~NoFork() { leave(); }
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;

 private:
  friend class Mutex;
  static void enter() noexcept;
  static void leave() noexcept;
};

/// Has `handler` called in the child of each fork() from now on, in the order of registration. Handlers lie in the
/// library, and there are at most 16. Thread-safe.
void in_child_of_fork(void (*handler)() noexcept) noexcept;

/// Counts the forks between the program's first process and this one.
std::uint64_t fork_generation() noexcept;

/// False where a fork() between the program's first process and this one did not wait long enough.
bool forks_whole() noexcept;

}  // namespace frazil
