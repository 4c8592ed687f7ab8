#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "server/core/notice.h"

namespace frazil::server {

/// Writes notices to a file as lines "TIME LEVEL SUBJECT: TEXT" on its own thread, so callers never wait for the file.
/// A line is dropped and counted if the file cannot be written, or if too many lines wait for a pipe or terminal
/// that is not being read. Thread-safe.
class Log {
 public:
  static constexpr std::size_t kMaxWaiting = 1000;

  struct Options {
    std::size_t max_waiting = kMaxWaiting;  ///< limit for waiting lines
    std::chrono::milliseconds gather{0};    ///< how long lines wait for others, so that the thread writes less often
    std::chrono::milliseconds sync{0};      ///< longest time until a written line is on the disk; 0: the system decides
    bool reports_drops = true;  ///< a line reports the number of dropped ones when lines can be written again
  };
  /// `file`: an open descriptor, whose mode is not changed and which is not closed. It may be invalid.
  explicit Log(int file) : Log(file, Options()) {}
  Log(int file, const Options& options);
  /// Writes waiting lines for at most one second.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void write(const Notice& notice);
  /// Writes a line unchanged.
  void write_line(std::string line);
  /// Returns the number of dropped lines.
  std::uint64_t dropped() const { return dropped_; }

 private:
  void run();
  bool wait_for_lines(std::unique_lock<std::mutex>& lock);
  void sync();
  std::uint64_t take_lines(std::string& bytes);
  void write_lines(std::uint64_t count, std::string_view bytes);
  bool put(std::string_view bytes);
  bool may_wait() const;

  const int file_;
  const Options options_;
  bool torn_ = false;                                             // the last line is incomplete; used by the thread
  std::optional<std::chrono::steady_clock::time_point> sync_at_;  // lines are not on the disk; used by the thread
  std::atomic<std::uint64_t> dropped_ = 0;
  std::uint64_t told_ = 0;  // dropped lines that a line has reported; used by the thread
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  std::atomic<bool> ending_ = false;
  std::chrono::steady_clock::time_point until_;  // written before ending_
  std::thread thread_;                           // last: uses the other members
};

/// Formats a notice with its time as a line. Control characters become spaces.
std::string line_of(const Notice& notice, std::chrono::system_clock::time_point time);

/// Formats a time in UTC, "2026-03-01T12:00:00.123Z".
std::string text_of_time(std::chrono::system_clock::time_point time);

}  // namespace frazil::server
