#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <time.h>

/// Times two implementations of the same work side by side, so that what disturbs the machine disturbs both.
namespace bench {

/// One side of a comparison: run() does one request, complete with the allocation of its outputs.
struct Runner {
  virtual ~Runner() = default;
  virtual void run() = 0;
};

struct InterleaveOptions {
  int rounds = 9;            ///< per side, at least 9
  double batch_ms = 20;      ///< runs per round are chosen to fill this time, at least one
  double max_seconds = 120;  ///< no further round starts after this, once 3 are done
};

/// Milliseconds per run, over the rounds of one side.
struct Timing {
  double median = 0, low = 0, high = 0;
  double cpu = 0;  ///< processor time / wall time: below 1 on one thread means that others had the core meanwhile
  int batch = 0, rounds = 0;

  /// (high - low) / median.
  double spread() const { return median > 0 ? (high - low) / median : 0; }
};

/// A side that was not timed is empty. ratio = b.median / a.median: above 1 where A is the faster. Its bounds are those
/// of the round-by-round pairs.
struct Comparison {
  std::string name;
  std::optional<Timing> a, b;
  double ratio = 0, ratio_low = 0, ratio_high = 0;
};

namespace detail {

using Clock = std::chrono::steady_clock;

inline double since_ms(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The rounds of one side so far.
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

inline void time_round(Runner& runner, Rounds& rounds) {
  double cpu = process_cpu_ms();
  rounds.ms.push_back(time_batch(runner, rounds.batch));
  rounds.cpu_ms += process_cpu_ms() - cpu;
  rounds.wall_ms += rounds.ms.back() * rounds.batch;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Runs per batch; the runs that it takes to find out are the warm-up.
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
  return {.median = median(rounds.ms),
          .low = *low,
          .high = *high,
          .cpu = rounds.cpu_ms / rounds.wall_ms,
          .batch = rounds.batch,
          .rounds = static_cast<int>(rounds.ms.size())};
}

inline nlohmann::json to_json(const Timing& timing) {
  return {{"median_ms", timing.median}, {"low_ms", timing.low},    {"high_ms", timing.high}, {"cpu", timing.cpu},
          {"spread", timing.spread()},  {"rounds", timing.rounds}, {"batch", timing.batch}};
}

}  // namespace detail

/// Times `a` and `b`, one of which may be null; it is then left out and there is no ratio. The rounds alternate, and so
/// does which side goes first.
inline Comparison interleave(std::string name, Runner* a, Runner* b, const InterleaveOptions& options = {}) {
  if (!a && !b) throw std::invalid_argument("interleave: nothing to time");
  Runner* sides[2] = {a, b};
  detail::Rounds rounds[2];
  for (int side : {0, 1}) {
    if (sides[side]) rounds[side].batch = detail::calibrate(*sides[side], options.batch_ms);
  }
  auto start = detail::Clock::now();
  for (int round = 0; round < std::max(options.rounds, 9); ++round) {
    if (round >= 3 && detail::since_ms(start) > options.max_seconds * 1000) break;
    for (int turn : {0, 1}) {
      int side = (round + turn) % 2;
      if (sides[side]) detail::time_round(*sides[side], rounds[side]);
    }
  }

  Comparison result;
  result.name = std::move(name);
  if (a) result.a = detail::summarise(rounds[0]);
  if (b) result.b = detail::summarise(rounds[1]);
  if (a && b) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < rounds[0].ms.size(); ++i) ratios.push_back(rounds[1].ms[i] / rounds[0].ms[i]);
    auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    result.ratio = result.b->median / result.a->median;
    result.ratio_low = *low;
    result.ratio_high = *high;
  }
  return result;
}

/// Prints comparisons as the rows of a table on stdout as they come, and keeps them as JSON.
class Report {
 public:
  Report(std::string a_name, std::string b_name) : a_name_(std::move(a_name)), b_name_(std::move(b_name)) {}

  void add(const Comparison& row) {
    if (rows_.empty()) {
      std::printf("%-16s %12s %7s %5s %12s %7s %5s %8s  %s\n", "model", (a_name_ + " ms").c_str(), "spread", "cpu",
                  (b_name_ + " ms").c_str(), "spread", "cpu", "ratio", "pairs");
    }
    std::printf("%-16s", row.name.c_str());
    print_side(row.a);
    print_side(row.b);
    if (row.a && row.b) {
      std::printf(" %8.2f  %.2f..%.2f", row.ratio, row.ratio_low, row.ratio_high);
    }
    std::printf("\n");
    std::fflush(stdout);

    nlohmann::json entry = {{"name", row.name}};
    if (row.a) entry[a_name_] = detail::to_json(*row.a);
    if (row.b) entry[b_name_] = detail::to_json(*row.b);
    if (row.a && row.b) {
      entry["ratio"] = row.ratio;
      entry["ratio_low"] = row.ratio_low;
      entry["ratio_high"] = row.ratio_high;
    }
    rows_.push_back(std::move(entry));
  }

  /// An array with an object for each row.
  const nlohmann::json& json() const { return rows_; }

  void write(const std::string& path) const {
    std::ofstream out(path);
    out << rows_.dump(2) << '\n';
    if (!out) throw std::runtime_error(path + ": cannot be written");
  }

 private:
  static void print_side(const std::optional<Timing>& timing) {
    if (timing) {
      std::printf(" %12.6f %6.1f%% %4.0f%%", timing->median, 100 * timing->spread(), 100 * timing->cpu);
    } else {
      std::printf(" %12s %7s %5s", "-", "-", "-");
    }
  }

  std::string a_name_, b_name_;
  nlohmann::json rows_ = nlohmann::json::array();
};

}  // namespace bench
