#include "server/host/sandbox.h"

#include <cerrno>
#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <thread>

#include <frazil/error.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/host/sandbox_files.h"
#include "server/host/sandboxed_process.h"

namespace frazil::server {
namespace {

using Use = SandboxPath::Use;

constexpr std::uint64_t kDefaultMemory = std::uint64_t{4} << 30U, kMemoryOfThread = std::uint64_t{64} << 20U;

bool has_filters() {
  std::uint32_t action = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0U, &action) == 0;
}

SandboxSupport tried_support() {
  SandboxSupport support{
      .filters = has_filters(), .landlock = landlock_version(), .bubblewrap = program_on_path("bwrap")};
  if (support.bubblewrap.empty()) {
    support.without_bubblewrap = "the program bwrap was not found: install bubblewrap";
    return support;
  }
  support.without_bubblewrap = error_of_namespaces(support.bubblewrap);
  if (!support.without_bubblewrap.empty()) support.bubblewrap.clear();
  return support;
}

void add_paths(std::vector<SandboxPath>& to, Use use, std::initializer_list<const char*> paths) {
  for (const char* path : paths) to.push_back({.path = path, .use = use});
}

}  // namespace

std::uint64_t default_memory() { return kDefaultMemory + kMemoryOfThread * std::thread::hardware_concurrency(); }

std::vector<SandboxPath> system_paths(bool network) {
  std::vector<SandboxPath> paths;
  add_paths(paths, Use::run, {"/usr", "/bin", "/lib", "/lib64"});
  add_paths(paths, Use::read,
            {"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/alternatives", "/etc/localtime", "/etc/ssl/openssl.cnf",
             "/sys/devices/system/cpu", "/sys/devices/system/node", "/dev/urandom", "/dev/random"});
  add_paths(paths, Use::read, {"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems"});
  add_paths(paths, Use::write, {"/dev/null", "/dev/zero", "/dev/full"});
  std::error_code error;  // a missing folder has no entries
  for (std::filesystem::directory_iterator at("/etc", error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with("python3")) paths.push_back({.path = at->path(), .use = Use::read});
  }
  if (network) {
    add_paths(paths, Use::read,
              {"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf",
               "/etc/services", "/etc/protocols", "/etc/ssl/certs"});
  }
  return paths;
}

const SandboxSupport& sandbox_support() {
  static const SandboxSupport support = tried_support();
  return support;
}

SandboxReach reach_of(const SandboxSpec& spec, const SandboxSupport& support) {
  if (spec.most == SandboxLevel::none) return {.level = SandboxLevel::none, .lacks = "it is turned off"};
  if (!support.filters) return {.level = SandboxLevel::none, .lacks = "the kernel has no seccomp"};
  if (spec.network) {
    const char* const files = support.landlock == 0 ? ", and the kernel has no Landlock, so files are open" : "";
    return {.level = SandboxLevel::limits, .lacks = std::string("the step declares 'network: true'") + files};
  }
  if (support.landlock == 0) return {.level = SandboxLevel::limits, .lacks = "the kernel has no Landlock"};
  if (spec.most != SandboxLevel::isolated) return {.level = SandboxLevel::no_network, .lacks = "'most' limits it"};
  if (support.bubblewrap.empty()) return {.level = SandboxLevel::no_network, .lacks = support.without_bubblewrap};
  return {.level = SandboxLevel::isolated, .lacks = ""};
}

SandboxReach require_reach(const SandboxSpec& spec, const SandboxSupport& support) {
  SandboxReach reach = reach_of(spec, support);
  if (reach.level >= spec.least) return reach;
  throw api::Error(api::Code::unsupported, "expected a sandbox of level '" + std::string(name_of(spec.least)) +
                                               "', only '" + std::string(name_of(reach.level)) +
                                               "' can be reached: " + reach.lacks);
}

}  // namespace frazil::server
