#include "base/limits.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace frazil {
namespace {

constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

/// The number in a control-group file; kUnlimited for "max" and for a missing file.
std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : kUnlimited;
}

/// The lowest limit among this process's control group and its ancestors.
std::uint64_t strictest(const std::string& root, std::string group, const std::string& file) {
  std::uint64_t least = kUnlimited;
  for (;;) {
    least = std::min(least, number_in(fmt::format("{}{}/{}", root, group, file)));
    const std::size_t slash = group.rfind('/');
    if (slash == std::string::npos || group.empty()) return least;
    group.resize(slash);
  }
}

/// Lines of /proc/self/cgroup read "0::/group" in version 2, "5:memory:/group" in version 1.
std::uint64_t group_limit() {
  std::uint64_t least = kUnlimited;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) least = std::min(least, strictest("/sys/fs/cgroup", group, "memory.max"));
    if (controllers == "memory") {
      least = std::min(least, strictest("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

std::uint64_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : kUnlimited;
}

}  // namespace

std::uint64_t usual_memory_limit() {
  static const std::uint64_t limit = std::min(machine_memory(), group_limit()) / 5 * 4;
  return limit;
}

}  // namespace frazil
