#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "server/host/sandbox.h"

// Starts processes in sandboxes.
namespace frazil::server {

struct ProcessStart {
  std::vector<std::string> arguments;    ///< the first is the path of the program
  std::vector<std::string> environment;  ///< NAME=VALUE, the complete environment
  int link = -1;                         ///< its descriptor 3; -1: none
  int output = -1;                       ///< its stdout and stderr; -1: /dev/null
};

/// The descriptor of rules for files, which a process at the level `isolated` applies itself: bubblewrap could not
/// mount anything under them.
inline constexpr int kRulesOfProgram = 5;

/// Starts a process as declared by `spec`, at a level of reach_of(). It leads a session and a process group, reads
/// /dev/null, has no other descriptors except kRulesOfProgram, and is killed when the calling thread ends. Throws
/// std::runtime_error if it cannot be started; errors of the program and of bubblewrap come later, as an exit. The
/// caller waits for the process.
pid_t start_sandboxed(ProcessStart start, const SandboxSpec& spec, SandboxLevel level, const std::string& bubblewrap);

/// Returns the path of a program, which is searched in PATH unless it has a slash. Empty: not found.
std::string program_on_path(std::string_view name);

/// Returns the reason why bubblewrap cannot start programs in namespaces here; empty: it can.
std::string error_of_namespaces(const std::string& bubblewrap);

}  // namespace frazil::server
