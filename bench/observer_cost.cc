#include <cstdio>

#include "bench/overhead_sections.h"
#include "exec/observe/observer.h"

namespace bench {
namespace {

/// Counts events; a session without observer tests for one equally often.
class CountingObserver : public frazil::exec::Observer {
 public:
  void run_begin(const frazil::Plan&, std::span<const std::int64_t>) override { events += 1; }
  void run_end() override { events += 1; }
  void step_begin(const frazil::Step&, frazil::NodeId) override { events += 1, steps += 1; }
  void step_end(const frazil::Step&, frazil::NodeId) override { events += 1; }
  void branch(const frazil::Step&, frazil::NodeId, bool) override { events += 1; }
  void iteration(const frazil::Step&, frazil::NodeId) override { events += 1; }
  void count_reached(const frazil::Step&, frazil::NodeId) override { events += 1; }
  void shapes_changed(std::uint32_t) override { events += 1; }

  double events = 0, steps = 0;
};

}  // namespace

nlohmann::json observer_cost(const std::string& name, std::shared_ptr<frazil::exec::Executable> executable,
                             const Requests& requests, const InterleaveOptions& options) {
  FrazilRunner without(executable, requests), with(executable, requests);
  CountingObserver counting;
  frazil::exec::Observer empty;
  with.run();
  with.session().set_observer(&counting);
  with.run();
  with.session().set_observer(&empty);
  Comparison row = interleave(name, &without, &with, options);

  double event_ns = (row.b->median - row.a->median) * 1e6 / counting.events;
  std::printf(
      "observer %-12s none %.3f us, attached and empty %.3f us: %+.1f%% (pairs %+.1f..%+.1f%%, best %+.1f%%); "
      "%.0f steps, %.0f events, %.2f ns per event\n",
      name.c_str(), row.a->median * 1e3, row.b->median * 1e3, 100 * (row.ratio - 1), 100 * (row.ratio_low - 1),
      100 * (row.ratio_high - 1), 100 * (row.best_ratio - 1), counting.steps, counting.events, event_ns);
  std::fflush(stdout);
  return {{"name", name},
          {"none", detail::to_json(*row.a)},
          {"empty", detail::to_json(*row.b)},
          {"ratio", row.ratio},
          {"ratio_low", row.ratio_low},
          {"ratio_high", row.ratio_high},
          {"best_ratio", row.best_ratio},
          {"steps_per_run", counting.steps},
          {"events_per_run", counting.events},
          {"event_ns", event_ns}};
}

}  // namespace bench
