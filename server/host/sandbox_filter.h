#pragma once

#include <vector>

#include <linux/filter.h>
#include <sys/types.h>

// Filters of system calls, as programs for the kernel (seccomp).
namespace frazil::server {

using SyscallFilter = std::vector<sock_filter>;

struct SyscallRules {
  bool network = false;   ///< sockets of the families AF_INET and AF_INET6 are allowed
  bool isolated = false;  ///< the process sees only itself, so signals need no rule
};

/// Returns the filter for the time from before the start of the interpreter. It refuses other processes, signals to
/// them, sockets, privileged and rarely used parts of the kernel, and changes of owners and modes. Programs may still
/// be started. Unless isolated, set_own_process() must complete it. Throws std::runtime_error if it cannot be built.
SyscallFilter start_filter(const SyscallRules& rules);
/// Puts the id of the filtered process into a filter. Async-signal-safe.
void set_own_process(SyscallFilter& filter, pid_t process) noexcept;

/// Returns the filter that the runner adds before it loads the user's code: it refuses to start programs. Throws as
/// start_filter().
SyscallFilter run_filter();

}  // namespace frazil::server
