#pragma once

#include <functional>

namespace frazil::api {

/// Runs `task` on one of the process's request threads, of which there are as many as cores at most; they are started
/// when needed and end when there is nothing to do for a while. Tasks begin in the order in which they came. A task
/// must not throw. Thread-safe. Throws Code::limit when there is no thread and the system refuses one; the task is then
/// not run.
void post(std::move_only_function<void()> task);

}  // namespace frazil::api
