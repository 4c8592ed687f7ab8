#pragma once

#include <memory>
#include <optional>
#include <span>
#include <variant>
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

/// A step waits for RunContext::event.
struct Waiting {};

/// Why a run has not ended, without a fault; nullopt if it has ended.
using Pause = std::optional<std::variant<GuardMiss, Waiting>>;

/// An interface to run one executable for one session. Each way to run a graph implements it.
class Runner {
 public:
  virtual ~Runner() = default;
  /// Runs the graph, with inputs and results as in Session::run(). After a miss, resume() of another runner may use the
  /// partial results until the next run. While it waits, go_on() or abandon() must follow.
  virtual Result<Pause> run(std::span<const Datum> inputs, std::vector<Datum>& outputs) = 0;
  /// Continues a run that waits, after the event.
  virtual Result<Pause> go_on(std::vector<Datum>& outputs) = 0;
  /// Ends a run that waits.
  virtual void abandon() = 0;
  /// The outcome of a resumed run.
  struct Resumed {
    Pause pause;
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
