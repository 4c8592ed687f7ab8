#pragma once

#include <cstdint>
#include <optional>

namespace frazil::server {

/// Figures of this process as the system reports them. A figure that cannot be read is nullopt.
struct ProcessFigures {
  std::optional<double> cpu_seconds;         ///< user and system time
  std::optional<double> start_time_seconds;  ///< since 1970
  std::optional<std::uint64_t> resident_bytes, virtual_bytes;
  std::optional<std::uint64_t> open_files, max_files;
  std::optional<std::uint64_t> threads;
};

ProcessFigures process_figures();

}  // namespace frazil::server
