#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <time.h>

/// Times two implementations of the same work alternately, so that disturbances of the machine affect both.
namespace bench {

/// One side of a comparison: run() executes one request, including the allocation of its outputs.
struct Runner {
  virtual ~Runner() = default;
  virtual void run() = 0;
};

struct InterleaveOptions {
  int rounds = 9;            ///< per side, at least 9
  double batch_ms = 20;      ///< runs per round are chosen to fill this time, at least one
  double max_seconds = 120;  ///< no further round starts after this, once 3 are done
  double settle_ms = 0;      ///< pause before each round, as idle threads of the other side may spin
  bool cpu_time = false;     ///< processor time instead of wall time, for use on shared machines
};

/// Milliseconds per run, over the rounds of one side.
struct Timing {
  double median = 0, low = 0, high = 0;
  double q1 = 0, q3 = 0;  ///< quartiles
  double cpu = 0;         ///< processor time / wall time: below 1 if other processes used the core
  int batch = 0, rounds = 0;

  /// (q3 - q1) / median: insensitive to disturbances of the outermost rounds.
  double spread() const { return median > 0 ? (q3 - q1) / median : 0; }
};

/// A side that was not timed is empty. ratio = b.median / a.median: above 1 if A is faster. Its bounds are the
/// quartiles of the pairs of rounds. best_ratio compares the fastest rounds.
struct Comparison {
  std::string name;
  std::optional<Timing> a, b;
  double ratio = 0, ratio_low = 0, ratio_high = 0, best_ratio = 0;
  double pair_ratio = 0;  ///< median of the ratios of pairs
};

/// The unit of a row's times: a run consists of `count` units.
struct Unit {
  std::string name = "run";
  double count = 1;
};

namespace detail {

using Clock = std::chrono::steady_clock;

inline double since_ms(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The rounds measured so far on one side.
struct Rounds {
  int batch = 0;
  std::vector<double> ms;  ///< per run
  double wall_ms = 0, cpu_ms = 0;
};

inline double process_cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

inline double time_batch(Runner& runner, int batch) {
  auto start = Clock::now();
  for (int i = 0; i < batch; ++i) runner.run();
  return since_ms(start) / batch;
}

inline void settle(Runner& runner, double ms) {
  if (ms <= 0) return;
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
  const auto start = Clock::now();
  do {
    runner.run();
  } while (since_ms(start) < ms / 5);  // restores the state of caches, threads and clock in a long run
}

inline void time_round(Runner& runner, Rounds& rounds, bool cpu_time) {
  const double before = process_cpu_ms();
  const double wall = time_batch(runner, rounds.batch), cpu = process_cpu_ms() - before;
  rounds.ms.push_back(cpu_time ? cpu / rounds.batch : wall);
  rounds.cpu_ms += cpu;
  rounds.wall_ms += wall * rounds.batch;
}

/// Returns the quantile `part`, interpolated linearly.
inline double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  double at = part * static_cast<double>(values.size() - 1);
  auto below = static_cast<std::size_t>(at);
  std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

/// Chooses the number of runs per batch; the calibration runs are also the warm-up.
inline int calibrate(Runner& runner, double batch_ms) {
  runner.run();
  int batch = 1;
  double each = time_batch(runner, batch);
  while (each * batch < batch_ms / 2) {
    batch = std::clamp(static_cast<int>(batch_ms / std::max(each, 1e-6)), batch * 2, batch * 16);
    each = time_batch(runner, batch);
  }
  each = std::min(each, time_batch(runner, batch));
  return std::max(1, static_cast<int>(batch_ms / each + 0.5));
}

inline Timing summarise(const Rounds& rounds) {
  auto [low, high] = std::minmax_element(rounds.ms.begin(), rounds.ms.end());
  return {.median = quantile(rounds.ms, 0.5),
          .low = *low,
          .high = *high,
          .q1 = quantile(rounds.ms, 0.25),
          .q3 = quantile(rounds.ms, 0.75),
          .cpu = rounds.cpu_ms / rounds.wall_ms,
          .batch = rounds.batch,
          .rounds = static_cast<int>(rounds.ms.size())};
}

inline nlohmann::json to_json(const Timing& timing) {
  return {{"median_ms", timing.median}, {"low_ms", timing.low},    {"high_ms", timing.high},
          {"q1_ms", timing.q1},         {"q3_ms", timing.q3},      {"cpu", timing.cpu},
          {"spread", timing.spread()},  {"rounds", timing.rounds}, {"batch", timing.batch}};
}

}  // namespace detail

/// Times `a` and `b`. One may be null; it is then omitted and there is no ratio. Rounds alternate, and so does the side
/// that starts.
inline Comparison interleave(std::string name, Runner* a, Runner* b, const InterleaveOptions& options = {}) {
  if (!a && !b) throw std::invalid_argument("interleave: nothing to time");
  Runner* sides[2] = {a, b};
  detail::Rounds rounds[2];
  for (int side : {0, 1}) {
    if (!sides[side]) continue;
    detail::settle(*sides[side], options.settle_ms);
    rounds[side].batch = detail::calibrate(*sides[side], options.batch_ms);
  }
  auto start = detail::Clock::now();
  for (int round = 0; round < std::max(options.rounds, 9); ++round) {
    if (round >= 3 && detail::since_ms(start) > options.max_seconds * 1000) break;
    for (int turn : {0, 1}) {
      int side = (round + turn) % 2;
      if (!sides[side]) continue;
      detail::settle(*sides[side], options.settle_ms);
      detail::time_round(*sides[side], rounds[side], options.cpu_time);
    }
  }

  Comparison result;
  result.name = std::move(name);
  if (a) result.a = detail::summarise(rounds[0]);
  if (b) result.b = detail::summarise(rounds[1]);
  if (a && b) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < rounds[0].ms.size(); ++i) ratios.push_back(rounds[1].ms[i] / rounds[0].ms[i]);
    result.ratio = result.b->median / result.a->median;
    result.pair_ratio = detail::quantile(ratios, 0.5);
    result.ratio_low = detail::quantile(ratios, 0.25);
    result.ratio_high = detail::quantile(ratios, 0.75);
    result.best_ratio = result.b->low / result.a->low;
  }
  return result;
}

/// Prints comparisons as rows of a table on stdout as they arrive, and stores them as JSON.
class Report {
 public:
  Report(std::string a_name, std::string b_name) : a_name_(std::move(a_name)), b_name_(std::move(b_name)) {}

  /// `note` describes a problem of the row and is printed at the end of the line.
  void add(const Comparison& row, const Unit& unit = {}, const std::string& note = {}) {
    if (rows_.empty()) print_head();
    std::printf("%-16s %-10s", row.name.c_str(), unit.name.c_str());
    print_side(row.a, unit);
    print_side(row.b, unit);
    if (row.a && row.b) {
      std::printf(" %7.2f  %5.2f..%-5.2f %6.2f", row.ratio, row.ratio_low, row.ratio_high, row.best_ratio);
    }
    std::printf("%s%s\n", note.empty() ? "" : "  ", note.c_str());
    std::fflush(stdout);
    rows_.push_back(entry(row, unit, note));
  }

  /// Returns an array with one object per row.
  const nlohmann::json& json() const { return rows_; }

 private:
  void print_head() const {
    std::printf("%-16s %-10s %12s %7s %5s %12s %7s %5s %7s  %-12s %6s\n", "model", "per", (a_name_ + " us").c_str(),
                "spread", "cpu", (b_name_ + " us").c_str(), "spread", "cpu", "ratio", "pairs", "best");
  }

  static void print_side(const std::optional<Timing>& timing, const Unit& unit) {
    if (timing) {
      std::printf(" %12.4f %6.1f%% %4.0f%%", timing->median / unit.count * 1e3, 100 * timing->spread(),
                  100 * timing->cpu);
    } else {
      std::printf(" %12s %7s %5s", "-", "-", "-");
    }
  }

  nlohmann::json entry(const Comparison& row, const Unit& unit, const std::string& note) const {
    nlohmann::json json = {{"name", row.name}, {"unit", unit.name}, {"units_per_run", unit.count}};
    if (row.a) json[a_name_] = detail::to_json(*row.a);
    if (row.b) json[b_name_] = detail::to_json(*row.b);
    if (row.a && row.b) {
      json["ratio"] = row.ratio;
      json["ratio_low"] = row.ratio_low;
      json["ratio_high"] = row.ratio_high;
      json["best_ratio"] = row.best_ratio;
    }
    if (!note.empty()) json["note"] = note;
    return json;
  }

  std::string a_name_, b_name_;
  nlohmann::json rows_ = nlohmann::json::array();
};

}  // namespace bench
