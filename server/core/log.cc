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

Log::Log(int file, const Options& options) : file_(file), options_(options), thread_(quiet_thread([this] { run(); })) {}

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
    if (waiting_.size() == options_.max_waiting) return void(++dropped_);
    waiting_.push_back(std::move(line));
    waiting = waiting_.size();
  }
  if (waiting == 1 || waiting == options_.max_waiting / 2) changed_.notify_one();  // the thread waits for nothing else
}

/// Waits until lines wait or the log ends. Meanwhile syncs written lines. Returns false if the log ends without lines.
bool Log::wait_for_lines(std::unique_lock<std::mutex>& lock) {
  const auto ready = [this] { return ending_ || !waiting_.empty(); };
  while (sync_at_ && !changed_.wait_until(lock, *sync_at_, ready)) {
    lock.unlock();
    sync();
    lock.lock();
  }
  changed_.wait(lock, ready);
  return !waiting_.empty();
}

void Log::sync() {
  if (!sync_at_) return;
  ::fdatasync(file_);
  sync_at_.reset();
}

void Log::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!wait_for_lines(lock)) return sync();
    changed_.wait_for(lock, options_.gather, [this] { return ending_ || waiting_.size() >= options_.max_waiting / 2; });
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
  if (options_.sync.count() > 0) {
    if (!sync_at_) sync_at_ = Clock::now() + options_.sync;
    if (Clock::now() >= *sync_at_) sync();
  }
  const std::uint64_t dropped = dropped_;
  if (dropped == told_ || !options_.reports_drops) return;
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
  if (std::exchange(torn_, false) && !put("\n")) return false;
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
    torn_ = !bytes.empty();
  }
  return true;
}

}  // namespace frazil::server
