#include "server/core/log.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "server/core/clock.h"

namespace frazil::server {
namespace {

constexpr std::chrono::seconds kLastLinesWait{1};
constexpr int kPollMs = 50;

}  // namespace

std::string text_of_time(std::chrono::system_clock::time_point time) {
  const auto since = time.time_since_epoch();
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(since).count() % 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  char milliseconds[8];
  std::snprintf(milliseconds, sizeof milliseconds, ".%03dZ", static_cast<int>(rest));
  return std::string(text, size) + milliseconds;
}

namespace {

/// Starts a thread that blocks all signals, so that a closed pipe is an error of write() instead of SIGPIPE.
std::thread quiet_thread(auto run) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(run));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

std::string line_of(const Notice& notice, std::chrono::system_clock::time_point time) {
  constexpr const char* kNames[] = {"info", "warning", "error"};
  std::string line = text_of_time(time) + " " + kNames[static_cast<std::size_t>(notice.level)] + " " + notice.subject +
                     ": " + notice.text;
  std::ranges::replace_if(line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return line;
}

Log::Log(int file, std::size_t max_waiting, std::chrono::milliseconds gather)
    : file_(file), max_waiting_(max_waiting), gather_(gather), thread_(quiet_thread([this] { run(); })) {}

Log::~Log() {
  {
    const std::scoped_lock lock(mutex_);
    until_ = Clock::now() + kLastLinesWait;
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Log::write(const Notice& notice) { write_line(line_of(notice, std::chrono::system_clock::now())); }

void Log::write_line(std::string line) {
  line += '\n';
  std::size_t waiting = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() == max_waiting_) return void(++dropped_);
    waiting_.push_back(std::move(line));
    waiting = waiting_.size();
  }
  if (waiting == 1 || waiting == max_waiting_ / 2) changed_.notify_one();  // the thread waits for nothing else
}

void Log::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    changed_.wait_for(lock, gather_, [this] { return ending_ || waiting_.size() >= max_waiting_ / 2; });
    while (!waiting_.empty()) {
      std::string bytes;
      const std::uint64_t count = take_lines(bytes);
      lock.unlock();
      write_lines(count, bytes);
      lock.lock();
    }
  }
}

/// Writes lines, and after them the number of lines that were dropped since the last such report.
void Log::write_lines(std::uint64_t count, std::string_view bytes) {
  if (!put(bytes)) return void(dropped_ += count);
  const std::uint64_t dropped = dropped_;
  if (dropped == told_) return;
  const Notice notice{.level = Notice::Level::warning,
                      .subject = "log",
                      .text = std::to_string(dropped - told_) + " lines could not be written and were dropped"};
  if (put(line_of(notice, std::chrono::system_clock::now()) + '\n')) told_ = dropped;
}

/// Takes waiting lines for one write. Returns their number. Precondition: a line waits, and the caller holds the mutex.
std::uint64_t Log::take_lines(std::string& bytes) {
  std::uint64_t count = 0;
  do {
    bytes += waiting_.front();
    waiting_.pop_front();
    ++count;
  } while (!waiting_.empty() && bytes.size() + waiting_.front().size() <= PIPE_BUF);
  return count;
}

bool Log::may_wait() const { return !ending_ || Clock::now() < until_; }

/// Writes at most PIPE_BUF bytes at a time, which a writable pipe accepts without blocking.
bool Log::put(std::string_view bytes) {
  if (file_ < 0) return false;
  while (!bytes.empty()) {
    pollfd one{.fd = file_, .events = POLLOUT, .revents = 0};
    const bool patient = may_wait();
    if (::poll(&one, 1, patient ? kPollMs : 0) == 0) {
      if (!patient) return false;
      continue;
    }
    const ssize_t written = ::write(file_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace frazil::server
