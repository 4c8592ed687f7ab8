#include "base/thread/cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include <sched.h>
#include <unistd.h>

#include "base/os/control_group.h"

namespace frazil {
namespace {

constexpr double kAll = 1e9;

/// Returns the cores of a version 2 folder, where cpu.max reads "QUOTA PERIOD" or "max PERIOD".
double quota(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double time = 0, period = 0;
  return file >> time >> period && time > 0 && period > 0 ? time / period : kAll;
}

/// Returns the cores of a version 1 folder, where a quota of -1 means none.
double old_quota(const std::string& folder) {
  std::ifstream file(folder + "/cpu.cfs_quota_us"), length(folder + "/cpu.cfs_period_us");
  double time = 0, period = 0;
  return file >> time && length >> period && time > 0 && period > 0 ? time / period : kAll;
}

double group_cores() {
  double least = kAll;
  for_each_control_group([&](const std::string& controllers, const std::string& group) {
    if (controllers.empty()) least = std::min(least, strictest_on_path("/sys/fs/cgroup", group, quota));
    if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      least = std::min(least, strictest_on_path("/sys/fs/cgroup/" + controllers, group, old_quota));
    }
  });
  return least;
}

/// Returns the cores of the affinity mask, or the system's count if the mask is longer than cpu_set_t.
double affinity_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

unsigned usable_cores() {
  static const auto cores = static_cast<unsigned>(std::max(1.0, std::ceil(std::min(affinity_cores(), group_cores()))));
  return cores;
}

}  // namespace frazil
