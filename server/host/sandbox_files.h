#pragma once

#include <span>

#include "server/core/file_descriptor.h"
#include "server/host/sandbox.h"

// Rules for the files and the TCP ports of a process, which the kernel keeps (Landlock).
namespace frazil::server {

/// Returns the version of the kernel's interface; 0: none.
int landlock_version() noexcept;

struct FileRulesOptions {
  bool network = false;      ///< connections over TCP are allowed
  bool only_writes = false;  ///< reading and running need no rule
};

/// Returns a set of rules that allows `paths`. Where the kernel can, signals
/// and abstract Unix sockets beyond the process are refused, too. Throws std::runtime_error for a required path that is
/// missing, and if the set cannot be made.
FileDescriptor file_rules(std::span<const SandboxPath> paths, const FileRulesOptions& options);

/// Adds the calling process' own folder in /proc to the rules and applies them to the calling thread, which cannot be
/// undone. Returns false with errno. Async-signal-safe.
bool apply_file_rules(int rules) noexcept;

}  // namespace frazil::server
