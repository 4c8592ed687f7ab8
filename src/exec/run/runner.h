#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exec/run/executable.h"
#include "exec/run/run_context.h"

namespace frazil::exec {

/// A guard that missed: the assumption, the actual value, and the guard's position in the plan that ran.
struct GuardMiss {
  AssumptionKey key;
  std::int64_t value = 0;
  StepIndex guard = 0;
};

/// An interface to run one executable for one session. Each way to run a graph implements it.
class Runner {
 public:
  virtual ~Runner() = default;
  /// Runs the graph, with inputs and results as in Session::run(). If a guard misses, the run ends and returns the
  /// miss. resume() of another runner may use its partial results until the next run.
  virtual Result<std::optional<GuardMiss>> run(std::span<const Datum> inputs, std::vector<Datum>& outputs) = 0;
  /// The outcome of a resumed run, which may end with another miss.
  struct Resumed {
    std::optional<GuardMiss> miss;
  };
  /// Continues where a guard of `before` missed, with the inputs and outputs of its run. Returns nullopt if this runner
  /// cannot continue there; the request must then start again.
  virtual Result<std::optional<Resumed>> resume(Runner& before, const GuardMiss& miss, std::span<const Datum> inputs,
                                                std::vector<Datum>& outputs) = 0;
  /// Releases the memory that stays from run to run.
  virtual void drop_memory() = 0;
  /// Releases inputs and results after a run, so that only the caller holds them.
  virtual void release() {}
  virtual const Executable& executable() const = 0;
};

/// Makes the runner that the executable's options select. `context` must outlive it.
std::unique_ptr<Runner> make_runner(std::shared_ptr<Executable> executable, RunContext& context);

}  // namespace frazil::exec
