#pragma once

#include <cstdint>

// Consistency in the child of a fork(). The child has the memory of its parent, but only the thread that forks. Data
// that another thread was changing stays half changed, and its locks stay locked.
namespace frazil {

/// A scope that no other thread's fork() may interrupt. fork() waits until the scope has ended, and new scopes wait for
/// the fork(). A lock of a Mutex is such a scope. Scopes of one thread may nest. A thread that forks inside a scope
/// continues inside it in the child.
///
/// fork() waits for at most 10 seconds. If a scope of another thread lasts longer, forks_whole() is false in the child.
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

/// Registers `handler` to be called in the child of each later fork(), in order of registration. Handlers must be
/// functions of the library. There are at most 16. Thread-safe.
void in_child_of_fork(void (*handler)() noexcept) noexcept;

/// Returns the number of forks between the program's first process and this one.
std::uint64_t fork_generation() noexcept;

/// Returns false if a fork() between the program's first process and this one did not wait long enough.
bool forks_whole() noexcept;

}  // namespace frazil
