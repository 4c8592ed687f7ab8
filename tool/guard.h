#pragma once

namespace frazil::tool {

/// Converts a crash (SIGSEGV, SIGABRT, a stack overflow, ...) to one line on stderr and exit code 3, and a closed pipe
/// on stdout to an ordinary write error. Does not handle crashes in sanitizer builds and when FRAZIL_DEBUG is set, so
/// that they dump core.
void install_crash_guard();

}  // namespace frazil::tool
