#include "base/thread/mutex.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace frazil {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* time) noexcept {
  const int before = errno;
  ::syscall(SYS_futex, &word, operation, value, time, nullptr, 0);
  errno = before;
}

[[noreturn]] void end_child() {
  constexpr std::string_view kMessage =
      "frazil: another thread held a lock for more than 10 seconds while this process was forked, and this process "
      "needs what it guards: it ends\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  std::abort();
}

}  // namespace

void Mutex::wait() {
  if (forks_whole()) return mutex_.lock();
  constexpr std::chrono::milliseconds kLook{1};
  constexpr int kMaxLookups = 10'000;
  for (int i = 0; !mutex_.try_lock(); ++i) {
    if (i == kMaxLookups) end_child();
    std::this_thread::sleep_for(kLook);
  }
}

void Condition::notify_one() noexcept {
  signals_.fetch_add(1);
  if (waiting_.load() != 0) futex(signals_, FUTEX_WAKE_PRIVATE, 1, nullptr);
}

void Condition::notify_all() noexcept {
  signals_.fetch_add(1);
  if (waiting_.load() != 0) futex(signals_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr);
}

void Condition::wait_for_signal(Lock& lock, std::optional<std::chrono::nanoseconds> time) {
  using std::chrono::duration_cast, std::chrono::seconds;
  timespec left{};
  if (time) {
    const auto whole = duration_cast<seconds>(*time);
    left = {.tv_sec = whole.count(), .tv_nsec = (*time - whole).count()};
  }
  const std::uint32_t seen = signals_.load();
  waiting_.fetch_add(1);
  lock.unlock();
  futex(signals_, FUTEX_WAIT_PRIVATE, seen, time ? &left : nullptr);
  lock.lock();
  waiting_.fetch_sub(1);
}

}  // namespace frazil
