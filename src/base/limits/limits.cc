#include "base/limits/limits.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <unistd.h>

#include "base/os/control_group.h"

namespace frazil {
namespace {

constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

/// Returns the number in a control-group file; kUnlimited for "max" and for a missing file.
std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : kUnlimited;
}

/// Returns the lowest memory limit of this process's control groups. Version 2 names no controllers.
std::uint64_t group_limit() {
  std::uint64_t least = kUnlimited;
  const auto limit_in = [](const char* file) {
    return [file](const std::string& folder) { return number_in(folder + "/" + file); };
  };
  for_each_control_group([&](const std::string& controllers, const std::string& group) {
    if (controllers.empty()) {
      least = std::min(least, strictest_on_path("/sys/fs/cgroup", group, limit_in("memory.max")));
    }
    if (controllers == "memory") {
      least = std::min(least, strictest_on_path("/sys/fs/cgroup/memory", group, limit_in("memory.limit_in_bytes")));
    }
  });
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
