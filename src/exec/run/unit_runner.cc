#include "exec/run/unit_runner.h"

#include <algorithm>

namespace frazil::exec {

[[gnu::noinline]] void UnitRunner::run_shared(const PreparedStep& p, const code::Call& call, std::byte* scratch) {
  ++context_.counters.shared;
  const auto share = [&](std::int64_t first, std::int64_t past, std::int64_t grain) {
    context_.scheduler->parallel_for(past - first, grain, [&](std::int64_t begin, std::int64_t end, unsigned worker) {
      p.run(call, {worker, scratch + worker * p.scratch}, first + begin, first + end);
    });
  };
  const std::int64_t last = p.units - p.last_units;
  share(0, last, p.sharing.grain);
  if (p.last_units == 0 || stop_requested()) return;
  if (p.sharing.last_grain == 0) return p.run(call, {0, scratch}, last, p.units);
  share(last, p.units, p.sharing.last_grain);
}

/// Cuts steps into ranges. Each worker gets the same part of every step, as it does of steps that run alone.
void UnitRunner::cut(std::span<const PreparedStep> steps) {
  const std::int64_t workers = context_.scheduler->workers();
  ranges_.clear();
  for (std::int64_t w = 0; w < workers; ++w) {
    for (std::uint32_t k = 0; k < steps.size(); ++k) {
      const PreparedStep& p = steps[k];
      const std::int64_t grain = p.sharing.grain != 0 ? p.sharing.grain : p.units, ranges = ceil_div(p.units, grain);
      // A step that is not cut goes to the worker of its number.
      const std::int64_t first = ranges == 1 ? (k % workers == w ? 0 : 1) : w * ranges / workers;
      const std::int64_t past = ranges == 1 ? 1 : (w + 1) * ranges / workers;
      for (std::int64_t r = first; r < past; ++r) ranges_.push_back({k, r * grain, std::min(p.units, (r + 1) * grain)});
    }
  }
}

void UnitRunner::run_concurrent(std::span<const PreparedStep> steps, std::span<const code::Call> calls,
                                std::byte* scratch, std::size_t scratch_bytes) {
  cut(steps);
  const auto ranges = static_cast<std::int64_t>(ranges_.size());
  context_.scheduler->parallel_for(ranges, 1, [&](std::int64_t begin, std::int64_t, unsigned worker) {
    const Range& r = ranges_[static_cast<std::size_t>(begin)];
    steps[r.step].run(calls[r.step], {worker, scratch + worker * scratch_bytes}, r.begin, r.end);
  });
  context_.counters.shared += steps.size();
  context_.counters.concurrent += steps.size() - 1;
}

}  // namespace frazil::exec
