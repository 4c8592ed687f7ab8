#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exec/run/executable.h"
#include "exec/run/run_context.h"

namespace frazil::exec {

/// A guard that missed: what was assumed, what holds instead, and where in the plan that ran.
struct GuardMiss {
  AssumptionKey key;
  std::int64_t value = 0;
  StepIndex guard = 0;
};

/// Runs one executable for one session. Each way to run a graph is one.
class Runner {
 public:
  virtual ~Runner() = default;
  /// Inputs and results as of Session::run. A guard that misses ends the run; what it made so far stays for `resume`
  /// of another runner, until the next run.
  virtual Result<std::optional<GuardMiss>> run(std::span<const Datum> inputs, std::vector<Datum>& outputs) = 0;
  /// Goes on where a guard of `before` missed, with the inputs and outputs of its run. What began as one run may end
  /// with another miss, too. Nothing where this cannot go on from there; then a run has to begin anew.
  struct Resumed {
    std::optional<GuardMiss> miss;
  };
  virtual Result<std::optional<Resumed>> resume(Runner& before, const GuardMiss& miss, std::span<const Datum> inputs,
                                                std::vector<Datum>& outputs) = 0;
  /// Gives back the memory that stays from run to run.
  virtual void drop_memory() = 0;
  /// After a run: inputs and results are the caller's alone.
  virtual void let_go() {}
  virtual const Executable& executable() const = 0;
};

/// The runner that the executable's options ask for. `context` outlives it.
std::unique_ptr<Runner> make_runner(std::shared_ptr<Executable> executable, RunContext& context);

}  // namespace frazil::exec
