#include "server/service/process_metrics.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

namespace frazil::server {
namespace {

/// Returns the fields of /proc/self/stat after the name of the program, which may contain spaces.
std::vector<std::string> stat_fields() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream rest(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

/// Returns the time of the system's start in seconds since 1970.
std::optional<double> boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string key; file >> key;) {
    double seconds = 0;
    if (key == "btime" && file >> seconds) return seconds;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

std::optional<std::uint64_t> count_open_files() {
  std::error_code error;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end; at.increment(error)) {
    ++count;
  }
  return error || count == 0 ? std::nullopt : std::optional(count - 1);  // without that of the folder
}

}  // namespace

ProcessFigures process_figures() {
  // Positions of proc_pid_stat(5), from the third field.
  constexpr std::size_t kUser = 11, kSystem = 12, kThreads = 17, kStart = 19, kVirtual = 20, kResident = 21;
  ProcessFigures figures;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const std::vector<std::string> fields = stat_fields();
  if (fields.size() > kResident && ticks > 0) {
    figures.cpu_seconds = (std::stod(fields[kUser]) + std::stod(fields[kSystem])) / ticks;
    figures.threads = std::stoull(fields[kThreads]);
    figures.virtual_bytes = std::stoull(fields[kVirtual]);
    figures.resident_bytes = std::stoull(fields[kResident]) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    if (const auto boot = boot_time()) figures.start_time_seconds = *boot + std::stod(fields[kStart]) / ticks;
  }
  figures.open_files = count_open_files();
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.max_files = limit.rlim_cur;
  return figures;
}

}  // namespace frazil::server
