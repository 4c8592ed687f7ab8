#pragma once

#include <optional>
#include <string>
#include <vector>

namespace frazil::tool {

/// Hardware event counters of this thread, if the kernel provides them.
class PerfCounters {
 public:
  PerfCounters();
  ~PerfCounters();
  PerfCounters(const PerfCounters&) = delete;
  PerfCounters& operator=(const PerfCounters&) = delete;

  /// Returns why counters are unavailable; empty if they are available.
  const std::string& missing() const { return missing_; }
  void start();
  void stop();

  struct Reading {
    const char* name;
    double value;  ///< extrapolated if the counter was multiplexed
  };
  std::vector<Reading> read() const;

 private:
  struct Counter {
    const char* name;
    int file;
  };
  std::vector<Counter> counters_;
  std::string missing_;
};

}  // namespace frazil::tool
