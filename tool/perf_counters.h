#pragma once

#include <optional>
#include <string>
#include <vector>

namespace frazil::tool {

/// The processor's event counters of this thread, where the kernel gives them.
class PerfCounters {
 public:
  PerfCounters();
  ~PerfCounters();
  PerfCounters(const PerfCounters&) = delete;
  PerfCounters& operator=(const PerfCounters&) = delete;

  /// Why there are none; empty where there are.
  const std::string& missing() const { return missing_; }
  void start();
  void stop();

  struct Reading {
    const char* name;
    double value;  ///< scaled up where the counter was shared
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
