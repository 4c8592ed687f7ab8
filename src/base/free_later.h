#pragma once

#include <cstddef>

namespace frazil {

/// True when the run of this thread has to end and the release of so many strings or items would keep it. In other runs
/// the thread that made them frees them: memory that another one gives back costs the next run more than it saves.
bool frees_later(std::size_t objects) noexcept;

/// Destroys `what` by `destroy` on another thread, so that a run that ends or is cancelled does not wait for the
/// release of millions of strings. `bytes` is what it holds, about: when more than 256 MiB would wait, or no thread can
/// be started, it is destroyed here and now. The thread ends when nothing is left. Thread-safe.
void free_later(void* what, void (*destroy)(void*) noexcept, std::size_t bytes) noexcept;

/// Waits until nothing is left of what was handed over; false where there was nothing.
bool wait_until_freed() noexcept;

}  // namespace frazil
