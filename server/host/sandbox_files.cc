#include "server/host/sandbox_files.h"

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace frazil::server {
namespace {

// Rights and structures of the kernel's interface, also those that are newer than the system's headers.
enum LandlockRight : std::uint64_t {
  kExecute = 1U << 0U,
  kWriteFile = 1U << 1U,
  kReadFile = 1U << 2U,
  kReadFolder = 1U << 3U,
  kRemoveFolder = 1U << 4U,
  kRemoveFile = 1U << 5U,
  kMakeFolder = 1U << 7U,
  kMakeFile = 1U << 8U,
  kMakeLink = 1U << 12U,
  kRefer = 1U << 13U,     // from version 2
  kTruncate = 1U << 14U,  // from version 3
  kDevice = 1U << 15U,    // from version 5
};
constexpr std::uint64_t kAllOfFirst = (1U << 13U) - 1, kBindTcp = 1, kConnectTcp = 2, kScopes = 3;
constexpr int kFromRefer = 2, kFromTruncate = 3, kFromTcp = 4, kFromDevice = 5, kFromScopes = 6;
constexpr unsigned kOfPath = 1, kVersionQuery = 1;

struct LandlockSet {
  std::uint64_t files = 0, tcp = 0, scopes = 0;
};
struct [[gnu::packed]] LandlockPath {
  std::uint64_t rights;
  std::int32_t parent;
};

std::uint64_t handled_rights(int version, bool only_writes) {
  std::uint64_t rights = kAllOfFirst;
  if (version >= kFromRefer) rights |= kRefer;
  if (version >= kFromTruncate) rights |= kTruncate;
  if (version >= kFromDevice) rights |= kDevice;
  return only_writes ? rights & ~std::uint64_t{kReadFile | kReadFolder | kExecute} : rights;
}

std::uint64_t rights_of(SandboxPath::Use use) {
  switch (use) {
    case SandboxPath::Use::list: return kReadFolder;
    case SandboxPath::Use::read: return kReadFolder | kReadFile;
    case SandboxPath::Use::run: return kReadFolder | kReadFile | kExecute;
    case SandboxPath::Use::write: break;
  }
  return kReadFolder | kReadFile | kWriteFile | kRemoveFolder | kRemoveFile | kMakeFolder | kMakeFile | kMakeLink |
         kRefer | kTruncate | kDevice;
}

/// The rights of a path that is not a folder.
constexpr std::uint64_t kOfFile = kExecute | kWriteFile | kReadFile | kTruncate | kDevice;

FileDescriptor new_set(int version, std::uint64_t files, bool network) {
  LandlockSet set{.files = files};
  std::size_t size = sizeof set.files;
  if (version >= kFromTcp) {
    set.tcp = network ? kBindTcp : kBindTcp | kConnectTcp;
    size += sizeof set.tcp;
  }
  if (version >= kFromScopes) {
    set.scopes = kScopes;
    size += sizeof set.scopes;
  }
  return FileDescriptor(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &set, size, 0U)));
}

[[noreturn]] void rules_failed(const std::string& what) {
  const int error = errno;
  throw std::runtime_error(what + ": " + text_of_errno(error));
}

void add_path(int rules, const SandboxPath& path, std::uint64_t known) {
  const FileDescriptor file(::open(path.path.c_str(), O_PATH | O_CLOEXEC));
  if (!file) return path.required ? rules_failed("the sandbox's path '" + path.path + "'") : void();
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) rules_failed("the sandbox's path '" + path.path + "'");
  LandlockPath rule{.rights = rights_of(path.use) & known, .parent = file.get()};
  if (!S_ISDIR(status.st_mode)) rule.rights &= kOfFile;
  if (rule.rights == 0) return;
  if (::syscall(SYS_landlock_add_rule, rules, kOfPath, &rule, 0U) != 0) {
    rules_failed("the sandbox's rule for '" + path.path + "'");
  }
}

}  // namespace

int landlock_version() noexcept {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0}, kVersionQuery);
  return version > 0 ? static_cast<int>(version) : 0;
}

FileDescriptor file_rules(std::span<const SandboxPath> paths, const FileRulesOptions& options) {
  const int version = landlock_version();
  const std::uint64_t handled = handled_rights(version, options.only_writes);
  FileDescriptor rules = new_set(version, handled, options.network);
  if (!rules) rules_failed("rules for files");
  for (const SandboxPath& path : paths) add_path(rules.get(), path, handled);
  return rules;
}

__attribute__((no_sanitize("address", "thread", "undefined"))) bool apply_file_rules(int rules) noexcept {
  const int own = ::open("/proc/self", O_PATH | O_CLOEXEC);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  if (own >= 0) {
    const LandlockPath rule{.rights = kReadFolder | kReadFile, .parent = own};
    if (::syscall(SYS_landlock_add_rule, rules, kOfPath, &rule, 0U) != 0) return false;
    ::close(own);
  }
  return ::syscall(SYS_landlock_restrict_self, rules, 0U) == 0;
}

}  // namespace frazil::server
