// Define-by-run batching beside its peers: models whose structure differs from instance to instance, one thread, all
// implementations in this process.
//
//   lazy_bench [--only NAME]... [--rounds N] [--json FILE]
//
// NAME is a workload, or a workload and a batch size: tree_lstm_150, tree_lstm_150/64. A row's figure is instances per
// second of the thread's processor time, the median of the rounds. In a round each implementation passes once or more
// over the same pool of instances, in turns; one that takes long, only in every fourth round. "spread" is the distance
// of the quartiles. Ratios are medians over the rounds: this row's rate over that of the fastest of LibTorch's, of our
// handwritten programs, and of those with what depends on a word only looked up ("folded"; LibTorch's are not related
// to). "apart" is the largest difference from plain loops, which is checked before anything is timed: returns 1 where
// it is too large.
//
// Freed memory stays with the process, as with the allocators of services: LibTorch would ask the system for the
// values of each batch again, which halves the rate of mv_rnn.
//
// Debian's OpenBLAS does not know recent processors: the program starts itself again with OPENBLAS_CORETYPE=SkylakeX
// where the machine has AVX-512 and the variable is not set.

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include <malloc.h>
#include <unistd.h>

#include "bench/arguments.h"
#include "bench/child.h"
#include "bench/fma_peak.h"
#include "bench/lazy/frazil_rows.h"
#include "bench/lazy/handwritten.h"
#include "bench/lazy/products.h"
#include "bench/lazy/torch_peer.h"
#include "kernel/simd/isa.h"

namespace bench::lazy {
namespace {

using std::int64_t;

constexpr int64_t kPool = 256;
constexpr double kPassMs = 20;  ///< least time of an implementation in a round
constexpr double kSlow = 5;     ///< times the fastest one's: measured in every kSlowRounds-th round
constexpr int kSlowRounds = 4;
constexpr double kMaxApart = 2e-3;

/// Instances per second on one core of another machine, Zen 5; see docs/measurements.md.
struct Note {
  const char* row;
  const char* dynet;
};
constexpr Note kDynet[] = {
    {"tree_lstm_150/1", "3409"},
    {"tree_lstm_150/64", "5244"},
    {"tree_lstm_256/1", "1880"},
    {"tree_lstm_256/64", "3245"},
    {"bilstm_256/1", "748"},
    {"bilstm_256/8", "1050"},
    {"bilstm_256/64", "2101"},
    {"tree_rnn_256/64", "22819"},
    {"mv_rnn_64/64", "4802, unbatched (batched 2365)"},
    {"early_exit_256/64", "3481 natural code, unbatched (batched 2927); 8764 rewritten to lockstep"},
    {"early_exit_256/1024", "3478 natural code, unbatched (batched 904)"},
};

std::string dynet_note(const std::string& row) {
  for (const Note& note : kDynet) {
    if (row == note.row) return note.dynet;
  }
  return "";
}

struct Clocks {
  double cpu_ms = 0, wall_ms = 0;

  static Clocks now() { return {ms(CLOCK_THREAD_CPUTIME_ID), ms(CLOCK_MONOTONIC)}; }
  Clocks operator-(const Clocks& other) const { return {cpu_ms - other.cpu_ms, wall_ms - other.wall_ms}; }

 private:
  static double ms(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
  }
};

/// One implementation at one batch size.
struct Side {
  Implementation* implementation;
  int passes = 1;
  bool slow = false;
  std::map<int, double> rates;  ///< by round
  Clocks total{};

  double median() const { return quantile(0.5); }
  double quantile(double part) const {
    std::vector<double> values;
    for (const auto& [round, rate] : rates) values.push_back(rate);
    return bench::detail::quantile(values, part);
  }
};

double median_ratio(const Side& a, const Side& b) {
  std::vector<double> ratios;
  for (const auto& [round, rate] : a.rates) {
    if (const auto other = b.rates.find(round); other != b.rates.end()) ratios.push_back(rate / other->second);
  }
  return bench::detail::quantile(ratios, 0.5);
}

class Table {
 public:
  Table(const Arguments& arguments, std::vector<std::string> only) : arguments_(arguments), only_(std::move(only)) {}

  /// make() makes the workload, if any of its rows is wanted.
  template <class Make>
  void add(const std::string& name, const std::vector<int64_t>& batches, const Make& make) {
    if (std::ranges::none_of(batches, [&](int64_t b) { return wants(name, b); })) return;
    any_ = true;
    const auto model = make();
    Implementations rows;
    add_frazil_rows(model, rows);
    add_handwritten_rows(model, rows);
    add_torch_rows(model, rows);
    for (const auto& row : rows) row->prepare();
    const Floats expected = reference(model);
    for (const int64_t batch : batches) {
      if (wants(name, batch)) measure(model, rows, batch, expected);
    }
  }

  bool finish(nlohmann::json figures) const {
    if (!any_) throw std::runtime_error("no row has the name that --only gives; names are as in tree_lstm_150/64");
    figures["rows"] = json_;
    write_json(arguments_.json, figures);
    return good_;
  }

  bool wants(const std::string& name, int64_t batch) const {
    return only_.empty() || std::ranges::count(only_, name) > 0 ||
           std::ranges::count(only_, name + "/" + std::to_string(batch)) > 0;
  }

 private:
  void measure(const Workload& model, const Implementations& rows, int64_t batch, const Floats& expected) {
    const std::string name = model.name + "/" + std::to_string(batch);
    std::printf("%s: %lld instances in batches of %lld; DyNet on a Zen 5 core: %s\n", name.c_str(),
                static_cast<long long>(model.instances()), static_cast<long long>(batch), dynet_note(name).c_str());
    std::printf("  %-25s %12s %7s %5s %9s %8s %8s %9s\n", "", "instances/s", "spread", "cpu", "of torch", "of hand",
                "of fold.", "apart");
    std::vector<Side> sides;
    std::vector<double> apart;
    for (const auto& row : rows) {
      if (!row->takes(batch)) continue;
      sides.push_back({.implementation = row.get()});
      apart.push_back(difference(model, *row, batch, expected));
    }
    time(model, batch, sides);
    for (std::size_t i = 0; i < sides.size(); ++i) print(name, sides[i], sides, apart[i]);
    std::printf("\n");
  }

  static double difference(const Workload& model, Implementation& row, int64_t batch, const Floats& expected) {
    Floats results(expected.size(), NAN);
    pass(model, row, batch, results);
    double most = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const double apart = std::abs(static_cast<double>(results[i]) - static_cast<double>(expected[i]));
      most = std::isfinite(apart) ? std::max(most, apart) : INFINITY;
    }
    return most;
  }

  static void pass(const Workload& model, Implementation& row, int64_t batch, std::span<float> results) {
    for (int64_t first = 0; first < model.instances(); first += batch) {
      const Batch part{first, std::min(first + batch, model.instances())};
      const int64_t begin = model.result_begin[static_cast<std::size_t>(part.first)];
      const int64_t end = model.result_begin[static_cast<std::size_t>(part.last)];
      row.run(part, results.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
    }
  }

  void time(const Workload& model, int64_t batch, std::vector<Side>& sides) const {
    Floats results(static_cast<std::size_t>(model.result_begin.back()));
    double fastest = INFINITY;
    std::vector<double> cost;
    for (const Side& side : sides) {
      const Clocks begin = Clocks::now();
      pass(model, *side.implementation, batch, results);
      cost.push_back((Clocks::now() - begin).cpu_ms);
      fastest = std::min(fastest, cost.back());
    }
    for (std::size_t i = 0; i < sides.size(); ++i) {
      sides[i].passes = std::max(1, static_cast<int>(std::ceil(kPassMs / cost[i])));
      sides[i].slow = cost[i] > kPassMs && cost[i] > kSlow * fastest;
    }
    for (int round = 0; round < arguments_.timing.rounds; ++round) {
      for (Side& side : sides) {
        if (!side.slow || round % kSlowRounds == 0) time_round(model, batch, side, round, results);
      }
    }
  }

  static void time_round(const Workload& model, int64_t batch, Side& side, int round, std::span<float> results) {
    const Clocks begin = Clocks::now();
    for (int i = 0; i < side.passes; ++i) pass(model, *side.implementation, batch, results);
    const Clocks spent = Clocks::now() - begin;
    side.rates[round] = static_cast<double>(model.instances() * side.passes) / spent.cpu_ms * 1e3;
    side.total.cpu_ms += spent.cpu_ms;
    side.total.wall_ms += spent.wall_ms;
  }

  static const Side* fastest(const std::vector<Side>& sides, Role role) {
    const Side* best = nullptr;
    for (const Side& side : sides) {
      if (side.implementation->role() != role) continue;
      if (best == nullptr || side.median() > best->median()) best = &side;
    }
    return best;
  }

  void print(const std::string& name, const Side& side, const std::vector<Side>& sides, double apart) {
    const bool same = apart <= kMaxApart;
    good_ = good_ && same;
    const double spread = (side.quantile(0.75) - side.quantile(0.25)) / side.median();
    const double cpu = side.total.cpu_ms / side.total.wall_ms;
    nlohmann::json json = {{"row", name},
                           {"implementation", side.implementation->name()},
                           {"per_second", side.median()},
                           {"per_second_wall", side.median() * cpu},
                           {"low", side.quantile(0)},
                           {"high", side.quantile(1)},
                           {"spread", spread},
                           {"cpu", cpu},
                           {"rounds", side.rates.size()},
                           {"apart", apart}};
    std::printf("  %-25s %12.0f %6.1f%% %4.0f%%", side.implementation->name().c_str(), side.median(), 100 * spread,
                100 * cpu);
    constexpr std::pair<Role, const char*> kColumns[] = {
        {Role::torch, "of_torch"}, {Role::handwritten, "of_hand"}, {Role::folded, "of_folded"}};
    for (const auto& [role, key] : kColumns) {
      if (const Side* const other = fastest(sides, role)) {
        json[key] = median_ratio(side, *other);
        std::printf(" %8.2f", json[key].get<double>());
      } else {
        std::printf(" %8s", "-");
      }
    }
    std::printf("  %9.1e%s\n", apart, same ? "" : "  DIFFERS");
    std::fflush(stdout);
    json_.push_back(std::move(json));
  }

  Arguments arguments_;
  std::vector<std::string> only_;
  nlohmann::json json_ = nlohmann::json::array();
  bool any_ = false, good_ = true;
};

bool all(const Arguments& arguments, const std::vector<std::string>& only) {
  const std::string torch = start_torch();
  const double peak = fma_peak();
  std::printf("one thread; FMA in registers: %.0f GFLOP/s; LibTorch: %s; OpenBLAS: %s\n\n", peak,
              torch.empty() ? "not in this build" : torch.c_str(),
              openblas_core().empty() ? "not in this build" : std::string(openblas_core()).c_str());
  Table table(arguments, only);
  table.add("tree_lstm_150", {1, 64}, [] { return tree_lstm(150, 300, kPool); });
  table.add("tree_lstm_256", {1, 64}, [] { return tree_lstm(256, 256, kPool); });
  table.add("bilstm_256", {1, 8, 64}, [] { return bilstm(256, kPool); });
  table.add("early_exit_256", {64, 1024}, [] { return early_exit(256, 4 * kPool); });
  table.add("tree_rnn_256", {64}, [] { return tree_rnn(256, kPool); });
  table.add("mv_rnn_64", {64}, [] { return mv_rnn(64, kPool); });
  return table.finish({{"libtorch", torch}, {"openblas", openblas_core()}, {"peak_gflops", peak}});
}

/// The libraries read these when they are loaded.
void restart_with_libraries_set(char** argv) {
  if (std::getenv("OPENBLAS_NUM_THREADS") != nullptr) return;
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  setenv("OMP_NUM_THREADS", "1", 1);
  if (frazil::kernel::supported_features().isa == frazil::Isa::avx512) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  execv(self_path().c_str(), argv);
  std::perror("lazy_bench: cannot start itself again");
}

void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace
}  // namespace bench::lazy

int main(int argc, char** argv) {
  bench::lazy::restart_with_libraries_set(argv);
  bench::lazy::keep_freed_memory();
  bench::Arguments arguments;
  arguments.timing.rounds = 21;
  std::vector<std::string> only;
  CLI::App app("Define-by-run batching beside its peers", "lazy_bench");
  app.add_option("--only", only, "workloads, as tree_lstm_150, or rows, as tree_lstm_150/64");
  app.add_option("--rounds", arguments.timing.rounds, "of each implementation")->check(CLI::PositiveNumber);
  app.add_option("--json", arguments.json, "file for all figures");
  return bench::run_program(app, argc, argv, [&] { return bench::lazy::all(arguments, only); });
}
