#pragma once

#include <span>
#include <vector>

#include "exec/run/prepared_steps.h"

namespace frazil::exec {

/// Runs the units of prepared steps, on this thread or on the scheduler's workers.
class UnitRunner {
 public:
  explicit UnitRunner(RunContext& context) : context_(context) {}

  /// Runs all units of a step. `scratch` has PreparedStep::scratch_bytes bytes.
  void run(const PreparedStep& p, const code::Call& call, std::byte* scratch) {
    if (p.sharing.grain != 0 && (!p.sharing.if_idle || context_.scheduler->has_idle()))
      return run_shared(p, call, scratch);
    p.run(call, {0, scratch}, 0, p.units);
  }
  /// Runs steps at the same time. Each worker has `scratch_bytes` bytes of `scratch`. Preconditions: there is a
  /// scheduler, and no step has last units.
  void run_concurrent(std::span<const PreparedStep> steps, std::span<const code::Call> calls, std::byte* scratch,
                      std::size_t scratch_bytes);

 private:
  /// A range of units of one of the steps that run at the same time.
  struct Range {
    std::uint32_t step;
    std::int64_t begin, end;
  };
  void run_shared(const PreparedStep& p, const code::Call& call, std::byte* scratch);
  void cut(std::span<const PreparedStep> steps);

  RunContext& context_;
  std::vector<Range> ranges_;
};

}  // namespace frazil::exec
