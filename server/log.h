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

#include "server/tell.h"

namespace frazil::server {

/// Writes notices to a file as lines "TIME LEVEL SUBJECT: TEXT", on a thread of its own: callers never wait for the
/// file. A line is dropped and counted when the file cannot be written, or when kMostWaiting lines wait because a pipe
/// or a terminal is not read. Thread-safe.
class Log {
 public:
  static constexpr std::size_t kMostWaiting = 1000;

  /// `file`: an open descriptor, which stays open and in the mode that it has. It may also be invalid.
  explicit Log(int file);
  /// Writes what still waits, for a second at most.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void write(const Notice& notice);
  /// Writes a line as it is.
  void write_line(std::string line);
  /// Lines that nobody will see.
  std::uint64_t dropped() const { return dropped_; }

 private:
  void run();
  bool put(std::string_view bytes);
  bool may_wait() const;

  const int file_;
  std::atomic<std::uint64_t> dropped_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  std::atomic<bool> ending_ = false;
  std::chrono::steady_clock::time_point until_;  // written before ending_
  std::thread thread_;                           // last: uses the others
};

/// The line of a notice, at a time. Control characters become spaces.
std::string line_of(const Notice& notice, std::chrono::system_clock::time_point time);

}  // namespace frazil::server
