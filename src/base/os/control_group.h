#pragma once

#include <algorithm>
#include <fstream>
#include <string>

// The limits of this process's control groups (cgroups of version 1 or 2).
namespace frazil {

/// Calls visit(controllers, group) for each control group of this process. Version 2 names no controllers. Lines of
/// /proc/self/cgroup read "0::/group" in version 2 and "5:memory:/group" in version 1.
template <class Visit>
void for_each_control_group(const Visit& visit) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    visit(line.substr(first + 1, second - first - 1), line.substr(second + 1));
  }
}

/// Returns the smallest result of `read` for the folders from a group up to the root.
template <class Read>
auto strictest_on_path(const std::string& root, std::string group, const Read& read) {
  for (auto least = read(root + group);;) {
    const std::size_t slash = group.rfind('/');
    if (slash == std::string::npos) return least;
    group.resize(slash);
    least = std::min(least, read(root + group));
  }
}

}  // namespace frazil
