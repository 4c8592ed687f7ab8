#pragma once

#include <cstddef>

namespace frazil {

/// Returns true if the run on this thread is stopping and releasing `objects` strings or items would delay it. Other
/// runs free values on the thread that allocated them, because memory freed on another thread makes the next run
/// slower.
bool defers_free(std::size_t objects) noexcept;

/// Calls `destroy(what)` on another thread, so that a run that ends or is cancelled does not wait for the release of
/// millions of strings. `bytes` is the approximate memory of `what`. Calls destroy() immediately on this thread if
/// the queue is full, would hold more than 256 MiB, or has no thread. The thread ends when its queue is empty.
/// Thread-safe.
void defer_free(void* what, void (*destroy)(void*) noexcept, std::size_t bytes) noexcept;

/// Waits until everything queued has been freed. Returns false if the queue was empty.
bool wait_until_freed() noexcept;

}  // namespace frazil
