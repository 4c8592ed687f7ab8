#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "exec/run/executable.h"
#include "exec/run/run_context.h"
#include "exec/run/specialisation.h"

namespace frazil::exec {

/// The state of one thread that runs an Executable: memory, registers, loop state. Not thread-safe; cheap to open.
class Session {
 public:
  explicit Session(std::shared_ptr<Executable> executable);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs the graph. Inputs and results are in graph order; an empty Datum takes the input's default. Each result has
  /// its own memory, which counts against no limit. Returns Code::limit beyond a limit, Code::cancelled if cancelled,
  /// Code::out_of_memory without memory. After an error the session can be used again. Never throws.
  Result<std::vector<Datum>> run(std::span<const Datum> inputs);
  /// Same, into `outputs`, which is resized. Reuses tensors that are not shared.
  Status run(std::span<const Datum> inputs, std::vector<Datum>& outputs);

  /// Begins a run that may leave this thread while steps wait. Returns what it waits for, or null if it has ended, as
  /// run() ends. After the event, or to stop it after cancel(), call go_on() on any thread; another run abandons it.
  /// `inputs` and `outputs` are used until the end.
  Result<std::shared_ptr<Event>> start(std::span<const Datum> inputs, std::vector<Datum>& outputs);
  /// Continues a run that waits, as start() does.
  Result<std::shared_ptr<Event>> go_on();
  /// Attaches a value of the program to the runs, for its own operators.
  void set_context(std::shared_ptr<void> context) { context_.execution_limits.set_context(std::move(context)); }
  /// Attaches what calls of other models need; see ExecutionLimits.
  void set_caller(std::shared_ptr<const void> caller) { context_.execution_limits.set_caller(std::move(caller)); }

  void set_limits(const Limits& limits) { context_.limits = limits; }
  /// Sets the scheduler that shares the work of large steps; null: the session's thread does all. Results have the same
  /// bits either way.
  void set_scheduler(std::shared_ptr<Scheduler> scheduler);
  /// Sets the seed of the streams for random operators that have no seed attribute. Call it before the first run.
  /// Sessions with the same seed draw the same numbers. The default is 0.
  void set_seed(std::uint64_t seed);
  /// Allows run() to return results with padding if that spares a copy. A result that appends to an input then gets
  /// spare capacity once requests have carried it. Otherwise results are dense.
  void allow_padding(bool allow) { context_.padded_results = allow; }
  /// Excludes kernels of the numeric class "fast", whose sums are less exact. Call it before the first run.
  void set_strict(bool strict) { context_.fast = !strict; }
  /// Releases the memory that stays from run to run, of all specialisations. Call it between runs; the next run
  /// allocates it again.
  void trim();
  void set_observer(Observer* observer) { context_.observer = observer; }
  /// Ends a run in progress soon, with Code::cancelled. Callable from any thread. The next run is not affected.
  void cancel() noexcept { context_.execution_limits.cancel(); }
  /// Sets a flag that cancels runs; null: none. A run that begins while `*stop` is set is cancelled and clears the
  /// flag. To stop a run in any state, exchange `*stop` for true with acquire and release, then call cancel(). `stop`
  /// must outlive the session.
  void set_stop(std::atomic<bool>* stop) { stop_ = stop; }
  const Counters& counters() const { return context_.counters; }
  const Executable& executable() const { return *executable_; }
  /// Returns the bytes that count against the memory limit at present: arena, growing buffers, scratch, sequences.
  std::size_t held_bytes() const { return context_.execution_limits.meter()->used(); }

 private:
  void begin();
  Result<std::shared_ptr<Event>> end(Result<bool> ended, std::vector<Datum>& outputs);
  void abandon();

  std::shared_ptr<Executable> executable_;
  RunContext context_;
  Specialisations specialisations_;
  std::atomic<bool>* stop_ = nullptr;
  std::span<const Datum> inputs_;          // of the run that waits
  std::vector<Datum>* outputs_ = nullptr;  // of the run that waits; null: none waits
};

}  // namespace frazil::exec
