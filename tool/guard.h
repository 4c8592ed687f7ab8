#pragma once

namespace frazil::tool {

/// Turns a crash (SIGSEGV, SIGABRT, a stack overflow, ...) into one line on stderr and exit code 3, and a closed pipe
/// on stdout into an ordinary write error. Leaves crashes alone, so that they dump core, in a build with sanitizers and
/// where FRAZIL_DEBUG is set.
void install_crash_guard();

}  // namespace frazil::tool
