#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "server/core/file_descriptor.h"
#include "server/core/log.h"

namespace frazil::server {

/// A file to which lines are appended on another thread, at most 20 ms later. Callers never wait. Owner and group may
/// read it (mode 0640). A line is dropped and counted if the file cannot be written, or if 10,000 lines wait.
/// Thread-safe.
class LineFile {
 public:
  /// `path`: "-" is stdout. `option`: the option that names the file, for messages. `sync`: as Log::Options. Throws
  /// api::Error (bad_input) for a file that cannot be opened.
  LineFile(const std::string& path, const std::string& option, std::chrono::milliseconds sync = {});

  void write_line(std::string line) { log_.write_line(std::move(line)); }
  /// Opens the file by its name again, after it was renamed. Returns false if it cannot be opened; the old one is used
  /// on. Does nothing for stdout.
  bool reopen();
  /// Returns the number of dropped lines.
  std::uint64_t dropped() const { return log_.dropped(); }

 private:
  const std::string path_;
  const bool syncs_;
  const FileDescriptor file_;
  Log log_;  // last: writes to the file
};

}  // namespace frazil::server
