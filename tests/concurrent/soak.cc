#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include <malloc.h>
#include <unistd.h>

#include "concurrent/mix.h"

extern "C" [[gnu::weak]] std::size_t __sanitizer_get_current_allocated_bytes();  // NOLINT

// The mix of mix_test.cc for SOAK_SECONDS seconds (3600), monitoring the memory of the process. Run it with `make
// soak`.
namespace {

using Clock = std::chrono::steady_clock;
using frazil::test::Mix;

/// The last part of the run is compared with the first: the minimum of the allocated bytes, which shows a leak
/// independently of open sessions; and the median of the resident bytes, which depend on these sessions and on malloc,
/// against the maximum in a longer warm-up.
constexpr double kPart = 0.1, kWarmUp = 0.33;
constexpr double kGrowth = 1.02, kResidentGrowth = 1.25, kSlack = 5e5;
constexpr int kReportEvery = 30;

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// Bytes allocated with malloc and not freed. Resident memory also includes malloc's free memory and a sanitizer's
/// shadow memory; with a sanitizer its own count is used.
double allocated_bytes() {
  if (__sanitizer_get_current_allocated_bytes != nullptr)
    return static_cast<double>(__sanitizer_get_current_allocated_bytes());
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

/// Samples the memory once a second while the mix runs.
class Watch {
 public:
  Watch(const Mix& mix, double seconds) : mix_(mix), start_(Clock::now()), seconds_(seconds) {}

  void until_end() {
    while (age() < seconds_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(static_cast<int>(std::min(1.0, seconds_ / 100) * 1e3)));
      samples_.push_back({age(), resident_bytes(), allocated_bytes()});
      if (age() >= next_report_) report();
    }
  }
  bool grew() const {
    return last_resident() > warm_resident() * kResidentGrowth ||
           least_allocated(1 - kPart, 1) > least_allocated(0, kPart) * kGrowth + kSlack;
  }
  double age() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double warm_resident() const {
    const std::vector<double> first = between(0, kWarmUp, &Sample::resident);
    return first.empty() ? 0 : first.back();
  }
  double last_resident() const {
    const std::vector<double> last = between(1 - kPart, 1, &Sample::resident);
    return last.empty() ? 0 : last[last.size() / 2];
  }
  double least_allocated(double from, double to) const {
    const std::vector<double> part = between(from, to, &Sample::allocated);
    return part.empty() ? 0 : part.front();
  }

 private:
  struct Sample {
    double age, resident, allocated;
  };

  /// Sorted; `from` and `to` are fractions of the run time.
  std::vector<double> between(double from, double to, double Sample::* what) const {
    std::vector<double> list;
    for (const Sample& s : samples_) {
      if (s.age >= from * seconds_ && s.age <= to * seconds_) list.push_back(s.*what);
    }
    std::ranges::sort(list);
    return list;
  }

  void report() {
    next_report_ += kReportEvery;
    std::printf(
        "%6.0f s: %.1f MB resident, %.1f MB allocated, %llu runs, %llu cancelled, %llu at a limit, %llu loads\n", age(),
        samples_.back().resident / 1e6, samples_.back().allocated / 1e6, number(Mix::runs), number(Mix::cancelled),
        number(Mix::limited), number(Mix::loads));
    std::fflush(stdout);
  }
  unsigned long long number(Mix::Count c) const { return mix_.count(c); }

  const Mix& mix_;
  Clock::time_point start_;
  double seconds_, next_report_ = kReportEvery;
  std::vector<Sample> samples_;
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
      "resident: %.1f MB at most in the first third, %.1f MB at the end; "
      "allocated at least: %.2f MB in the first tenth, %.2f MB in the last\n",
      good ? "passed" : "FAILED", watch.age(), static_cast<unsigned long long>(mix.count(Mix::runs)),
      static_cast<unsigned long long>(mix.count(Mix::right)),
      static_cast<unsigned long long>(mix.count(Mix::cancelled)),
      static_cast<unsigned long long>(mix.count(Mix::limited)), static_cast<unsigned long long>(mix.count(Mix::loads)),
      static_cast<unsigned long long>(mix.count(Mix::opens)), watch.warm_resident() / 1e6, watch.last_resident() / 1e6,
      watch.least_allocated(0, kPart) / 1e6, watch.least_allocated(1 - kPart, 1) / 1e6);
  return good ? 0 : 1;
}
