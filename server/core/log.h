#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
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

  /// `file`: an open descriptor, whose mode is not changed and which is not closed. It may be invalid.
  /// `max_waiting`: limit for waiting lines. `gather`: how long lines wait for others, so that the thread is woken and
  /// writes less often.
  explicit Log(int file, std::size_t max_waiting = kMaxWaiting, std::chrono::milliseconds gather = {});
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
  std::uint64_t take_lines(std::string& bytes);
  void write_lines(std::uint64_t count, std::string_view bytes);
  bool put(std::string_view bytes);
  bool may_wait() const;

  const int file_;
  const std::size_t max_waiting_;
  const std::chrono::milliseconds gather_;
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
