#include <cstdio>

#include "bench/overhead_sections.h"
#include "exec/observer.h"

namespace bench {
namespace {

/// Counts the places at which a session asks whether it has an observer.
class CountingObserver : public frazil::Observer {
 public:
  void run_begin() override { tests += 1; }
  void run_end() override { tests += 1; }
  void step_begin(const frazil::Step&, frazil::NodeId) override { tests += 1, steps += 1; }
  void step_end(const frazil::Step&, frazil::NodeId) override { tests += 1; }
  void branch(frazil::NodeId, bool) override { tests += 1; }
  void iteration(frazil::NodeId) override { tests += 1; }
  void shapes_changed(std::uint32_t) override { tests += 1; }

  double tests = 0, steps = 0;
};

struct Holder {
  frazil::Observer* observer = nullptr;
};

/// Nanoseconds per pass of a loop that asks `Tests` times whether a member is null, read anew each time.
template <int Tests>
double null_test_loop_ns(Holder& holder) {
  constexpr int kPasses = 1'000'000;
  std::vector<double> rounds;
  for (int round = 0; round < 15; ++round) {
    auto start = detail::Clock::now();
    for (int i = 0; i < kPasses; ++i) {
      for (int k = 0; k < Tests; ++k) {
        Holder* seen = &holder;
        asm volatile("" : "+r"(seen) : : "memory");
        if (seen->observer) [[unlikely]]
          seen->observer->run_begin();
      }
    }
    rounds.push_back(detail::since_ms(start) * 1e6 / kPasses);
  }
  return detail::quantile(rounds, 0.25);
}

double null_test_ns() {
  Holder holder;
  return (null_test_loop_ns<16>(holder) - null_test_loop_ns<8>(holder)) / 8;
}

}  // namespace

nlohmann::json observer_cost(const std::string& name, std::shared_ptr<frazil::Executable> executable,
                             const NamedTensors& inputs, const InterleaveOptions& options) {
  FrazilRunner without(executable, inputs), with(executable, inputs);
  CountingObserver counting;
  frazil::Observer empty;
  with.run();
  with.session().set_observer(&counting);
  with.run();
  with.session().set_observer(&empty);
  Comparison row = interleave(name, &without, &with, options);

  double run_ns = row.a->median * 1e6, test_ns = null_test_ns();
  double off = counting.tests * test_ns / run_ns;
  double attached_ns = (row.b->median - row.a->median) * 1e6 / counting.tests;
  std::printf(
      "observer %-12s none %.3f us, attached and empty %.3f us: %+.1f%% (pairs %+.1f..%+.1f%%, best %+.1f%%), "
      "%.2f ns per event\n"
      "         %-12s off: %.0f tests x %.2f ns = %.2f%% of the run (bound 1%%)\n",
      name.c_str(), row.a->median * 1e3, row.b->median * 1e3, 100 * (row.ratio - 1), 100 * (row.ratio_low - 1),
      100 * (row.ratio_high - 1), 100 * (row.best_ratio - 1), attached_ns, "", counting.tests, test_ns, 100 * off);
  std::fflush(stdout);
  return {{"name", name},
          {"none", detail::to_json(*row.a)},
          {"empty", detail::to_json(*row.b)},
          {"ratio", row.ratio},
          {"ratio_low", row.ratio_low},
          {"ratio_high", row.ratio_high},
          {"best_ratio", row.best_ratio},
          {"steps_per_run", counting.steps},
          {"tests_per_run", counting.tests},
          {"null_test_ns", test_ns},
          {"attached_event_ns", attached_ns},
          {"off_share", off}};
}

}  // namespace bench
