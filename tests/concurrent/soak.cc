#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include <malloc.h>
#include <unistd.h>

#include "concurrent/mix.h"

// The mix of mix_test.cc for SOAK_SECONDS seconds (3600), watching the memory of the process. Run it with `make soak`.
namespace {

using Clock = std::chrono::steady_clock;
using frazil::test::Mix;

/// The most memory in the first part of the time is held against the median in the last part.
constexpr double kPart = 0.1;
constexpr double kGrowth = 1.02, kSlack = 4e6;
constexpr int kReportEvery = 30;

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// What malloc has given out and not got back; resident memory also has what it keeps for later.
double allocated_bytes() {
  const auto info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

double seconds_wanted() {
  const char* text = std::getenv("SOAK_SECONDS");
  const double seconds = text != nullptr ? std::atof(text) : 3600;
  if (seconds >= 1) return seconds;
  std::fprintf(stderr, "SOAK_SECONDS: expected at least 1, got '%s'\n", text);
  std::exit(2);
}

/// Looks at the memory once a second while the mix runs.
class Watch {
 public:
  Watch(const Mix& mix, double seconds) : mix_(mix), start_(Clock::now()), seconds_(seconds) {}

  void until_end() {
    for (int k = 1; age() < seconds_; ++k) {
      std::this_thread::sleep_for(std::chrono::milliseconds(static_cast<int>(std::min(1.0, seconds_ / 20) * 1e3)));
      now_ = resident_bytes();
      if (age() <= kPart * seconds_) warm_ = std::max(warm_, now_);
      if (age() >= (1 - kPart) * seconds_) last_.push_back(now_);
      if (age() >= next_report_) report();
    }
    std::ranges::sort(last_);
  }
  bool grew() const { return last() > warm_ * kGrowth + kSlack; }
  double age() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double warm() const { return warm_; }
  double last() const { return last_.empty() ? now_ : last_[last_.size() / 2]; }

 private:
  void report() {
    next_report_ += kReportEvery;
    std::printf(
        "%6.0f s: %.1f MB resident, %.1f MB allocated, %llu runs, %llu cancelled, %llu at a limit, %llu loads\n", age(),
        now_ / 1e6, allocated_bytes() / 1e6, number(Mix::runs), number(Mix::cancelled), number(Mix::limited),
        number(Mix::loads));
    std::fflush(stdout);
  }
  unsigned long long number(Mix::Count c) const { return mix_.count(c); }

  const Mix& mix_;
  Clock::time_point start_;
  double seconds_, warm_ = 0, now_ = 0, next_report_ = kReportEvery;
  std::vector<double> last_;
};

}  // namespace

int main() {
  const double seconds = seconds_wanted();
  Mix mix(frazil::test::mix::workloads(), 1);
  Watch watch(mix, seconds);
  {
    std::jthread runs([&] { mix.run([&](std::uint64_t) { return watch.age() < seconds; }); });
    watch.until_end();
  }
  for (const std::string& error : mix.errors()) std::printf("error: %s\n", error.c_str());
  const bool good = mix.errors().empty() && !watch.grew();
  std::printf(
      "soak %s: %.0f s, %llu runs (%llu right, %llu cancelled, %llu at a limit), %llu loads, %llu sessions; "
      "%.1f MB resident after the warm-up, %.1f MB at the end\n",
      good ? "passed" : "FAILED", watch.age(), static_cast<unsigned long long>(mix.count(Mix::runs)),
      static_cast<unsigned long long>(mix.count(Mix::right)),
      static_cast<unsigned long long>(mix.count(Mix::cancelled)),
      static_cast<unsigned long long>(mix.count(Mix::limited)), static_cast<unsigned long long>(mix.count(Mix::loads)),
      static_cast<unsigned long long>(mix.count(Mix::opens)), watch.warm() / 1e6, watch.last() / 1e6);
  return good ? 0 : 1;
}
