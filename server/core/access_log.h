#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/core/clock.h"
#include "server/core/line_file.h"
#include "server/core/log_settings.h"

namespace frazil::server {

/// An answered request, of any protocol.
struct AccessRecord {
  std::chrono::system_clock::time_point time;  ///< arrival of its header
  std::string peer;                            ///< address of the client; "unix" for a Unix socket
  std::string tenant;                          ///< empty: none
  std::string_view protocol;                   ///< "http" or "grpc"
  std::string method, path;                    ///< of gRPC: "POST" and the name of the method
  std::string model;                           ///< empty: it is not for a model
  unsigned status = 0;                         ///< HTTP status, or gRPC code
  std::uint64_t bytes_in = 0, bytes_out = 0;   ///< of bodies or messages, not compressed
  Clock::duration duration{0};                 ///< until the answer is complete
};

enum class AccessFormat : std::uint8_t { text, json };

/// Formats a record as a line: TIME PEER TENANT PROTOCOL METHOD PATH MODEL STATUS BYTES_IN BYTES_OUT SECONDS, with "-"
/// for what is missing and spaces in values escaped as "\x20"; or as a JSON object.
std::string line_of(const AccessRecord& record, AccessFormat format);

/// Formats a record as a line of the server's log: TIME verbose request: PEER ... SECONDS.
std::string log_line_of(const AccessRecord& record);

/// Writes a line for each request to a file, to the server's log, or to both. Callers never wait. Thread-safe.
class AccessLog {
 public:
  struct Options {
    std::string file;  ///< "-": stdout; empty: only the server's log
    AccessFormat format = AccessFormat::text;
    std::function<void(const std::string&)> to_log;  ///< receives whole lines for the server's log
    std::shared_ptr<const LogSettings> settings;     ///< LogSettings::has_requests() turns the server's log on
  };
  /// Throws api::Error (bad_input) for a file that cannot be opened.
  explicit AccessLog(Options options);

  /// Returns true if records are written at present.
  bool is_on() const { return file_ || options_.settings->has_requests(); }
  void write(const AccessRecord& record);
  /// As LineFile::reopen(). Does nothing without a file.
  bool reopen() { return !file_ || file_->reopen(); }
  /// Returns the number of dropped lines.
  std::uint64_t dropped() const { return file_ ? file_->dropped() : 0; }

 private:
  Options options_;
  std::optional<LineFile> file_;
};

/// The record of one request while it is being answered. Copies nothing if the log is off.
class AccessEntry {
 public:
  /// `log` may be null and outlives the object.
  explicit AccessEntry(AccessLog* log) : log_(log) {}

  /// Begins a record. `peer` is called if the log is on.
  void begin(std::string_view protocol, std::string_view method, std::string_view path,
             const std::function<std::string()>& peer);
  bool is_on() const { return record_.has_value(); }
  void set_caller(const std::string& tenant, const std::string& model);
  void set_model(std::string model);
  void received(std::uint64_t bytes);
  void sent(std::uint64_t bytes);
  /// Writes the record; later calls do nothing until begin().
  void end(unsigned status);

 private:
  AccessLog* log_;
  std::optional<AccessRecord> record_;
  Clock::time_point begun_;
};

}  // namespace frazil::server
