#include "tool/guard.h"

#include <csignal>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

#include "base/os/sanitizers.h"

namespace frazil::tool {
namespace {

constexpr bool kSanitized = FRAZIL_ASAN || FRAZIL_TSAN;

alignas(16) char g_stack[64 * 1024];

void say(std::string_view text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
}

/// The handler only uses async-signal-safe functions.
void on_crash(int signal) {
  say("frazil: internal error: ");
  switch (signal) {
    case SIGSEGV: say("invalid memory access"); break;
    case SIGBUS: say("memory access error, possibly a file that was truncated while in use"); break;
    case SIGFPE: say("arithmetic fault"); break;
    case SIGILL: say("illegal instruction; FRAZIL_ISA=base avoids wide ones"); break;
    default: say("aborted"); break;
  }
  say("; FRAZIL_DEBUG=1 leaves a core dump\n");
  _exit(3);
}

}  // namespace

void install_crash_guard() {
  std::signal(SIGPIPE, SIG_IGN);
  const char* debug = std::getenv("FRAZIL_DEBUG");
  if (kSanitized || (debug != nullptr && *debug != '\0' && std::string_view(debug) != "0")) return;
  stack_t stack{};
  stack.ss_sp = g_stack;
  stack.ss_size = sizeof g_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

}  // namespace frazil::tool
