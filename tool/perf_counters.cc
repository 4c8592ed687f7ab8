#include "tool/perf_counters.h"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace frazil::tool {
namespace {

struct Event {
  const char* name;
  std::uint64_t config;
};
constexpr Event kEvents[] = {{"cycles", PERF_COUNT_HW_CPU_CYCLES},
                             {"instructions", PERF_COUNT_HW_INSTRUCTIONS},
                             {"cache_misses", PERF_COUNT_HW_CACHE_MISSES},
                             {"branch_misses", PERF_COUNT_HW_BRANCH_MISSES}};

int open_event(std::uint64_t config) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_HARDWARE;
  attr.size = sizeof attr;
  attr.config = config;
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

PerfCounters::PerfCounters() {
  for (const Event& event : kEvents) {
    const int file = open_event(event.config);
    if (file >= 0) {
      counters_.push_back({event.name, file});
    } else if (missing_.empty()) {
      missing_ = fmt::format("hardware counters are not available: {}", std::strerror(errno));
    }
  }
  if (!counters_.empty()) missing_.clear();
}

PerfCounters::~PerfCounters() {
  for (const Counter& counter : counters_) close(counter.file);
}

void PerfCounters::start() {
  for (const Counter& counter : counters_) ioctl(counter.file, PERF_EVENT_IOC_ENABLE, 0);
}

void PerfCounters::stop() {
  for (const Counter& counter : counters_) ioctl(counter.file, PERF_EVENT_IOC_DISABLE, 0);
}

std::vector<PerfCounters::Reading> PerfCounters::read() const {
  struct {
    std::uint64_t value, enabled, running;
  } now;
  std::vector<Reading> readings;
  for (const Counter& counter : counters_) {
    if (::read(counter.file, &now, sizeof now) != sizeof now || now.running == 0) continue;
    readings.push_back({counter.name, static_cast<double>(now.value) * static_cast<double>(now.enabled) /
                                          static_cast<double>(now.running)});
  }
  return readings;
}

}  // namespace frazil::tool
