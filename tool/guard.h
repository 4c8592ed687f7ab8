#pragma once

namespace frazil::tool {

/// Reports a crash (SIGSEGV, SIGABRT, a stack overflow, ...) as one line on stderr with exit code 3. Turns SIGPIPE for
/// stdout into an ordinary write error. Crashes in sanitizer builds, or with FRAZIL_DEBUG set, still dump core.
void install_crash_guard();

}  // namespace frazil::tool
