#pragma once

#include <functional>

namespace frazil::api {

/// Runs `task` on one of the process's request threads. There are at most as many threads as cores. They are started
/// when needed and end after a while without tasks. Tasks begin in the order of the calls.
///
/// A task must not throw. Thread-safe. Throws Code::limit if there is no thread and the system cannot start one; the
/// task is then not run.
void post(std::move_only_function<void()> task);

}  // namespace frazil::api
