#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/config/sandbox_level.h"

// The sandbox of processes that run code of a user: what a step declares, and which level the system can reach.
namespace frazil::server {

/// A path that a sandboxed process may use, absolute. A folder includes everything in it.
struct SandboxPath {
  enum class Use : std::uint8_t {
    list,   ///< a folder: the names in it, but no content
    read,   ///< files and folders
    run,    ///< as read, and programs and libraries
    write,  ///< as read, and changes; also devices
  };
  std::string path;
  Use use = Use::read;
  bool required = false;  ///< a missing path is an error, otherwise it is left out

  bool operator==(const SandboxPath&) const = default;
};

/// The resources that the process may use. The defaults are those of a step.
struct SandboxSpec {
  SandboxLevel least = SandboxLevel::no_network;  ///< a lower level is an error
  SandboxLevel most = SandboxLevel::isolated;     ///< no stricter level is tried; none turns the sandbox off
  bool network = false;                           ///< TCP and UDP as a client; the level is then at most limits
  bool tmp = false;                               ///< a folder for temporary files, removed when the process ends
  std::vector<SandboxPath> paths;                 ///< in addition to those of system_paths()
  std::uint64_t memory_bytes = 0;                 ///< of address space; 0: default_memory()
  std::uint64_t file_bytes = 1U << 30U;           ///< limit for the size of a written file

  bool operator==(const SandboxSpec&) const = default;
};

/// Returns 4 GiB, and 64 MiB for each processor: stacks and buffers of threads of a BLAS library.
std::uint64_t default_memory();

/// Returns the paths that every sandboxed process may use: libraries, the machine's description, /dev/null and
/// sources of random numbers. With `network` also the files for look-ups of names and for TLS.
std::vector<SandboxPath> system_paths(bool network);

/// The means of the system for sandboxes.
struct SandboxSupport {
  bool filters = false;                 ///< seccomp
  int landlock = 0;                     ///< version of Landlock's interface; 0: none
  std::string bubblewrap;               ///< path of the program; empty: none that works
  std::string without_bubblewrap = {};  ///< reason for an empty path
};
/// Returns the support of this system. The first call tries a program in namespaces; thread-safe.
const SandboxSupport& sandbox_support();

struct SandboxReach {
  SandboxLevel level = SandboxLevel::none;
  std::string lacks;  ///< reason why the level is not higher; empty at isolated
};
/// Returns the level that a declaration reaches on a system: the field `sandbox` of the policy hook `external`.
SandboxReach reach_of(const SandboxSpec& spec, const SandboxSupport& support);
/// Returns reach_of() for this system. Throws api::Error (unsupported), which says what is missing, for a level below
/// `spec.least`.
SandboxReach require_reach(const SandboxSpec& spec, const SandboxSupport& support);

}  // namespace frazil::server
