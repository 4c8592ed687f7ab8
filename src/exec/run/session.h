#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "exec/run/executable.h"
#include "exec/run/run_context.h"
#include "exec/run/specialisation.h"

namespace frazil::exec {

/// One thread's way to run an Executable: memory, registers, loop state. Not thread-safe; cheap to open.
class Session {
 public:
  explicit Session(std::shared_ptr<Executable> executable);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs the graph. Inputs in graph order; an empty Datum takes the input's default. Results in graph order, in
  /// tensors of their own, which count against no limit any more. After an error the session is usable again. Past a
  /// limit Code::limit, cancelled Code::cancelled, without memory Code::out_of_memory. Never throws.
  Result<std::vector<Datum>> run(std::span<const Datum> inputs);
  /// The same into `outputs`, which is resized; tensors that are not shared are reused.
  Status run(std::span<const Datum> inputs, std::vector<Datum>& outputs);

  void set_limits(const Limits& limits) { context_.limits = limits; }
  /// Who shares the work of large steps; null: the session's thread does all. Results have the same bits.
  void set_scheduler(std::shared_ptr<Scheduler> scheduler);
  /// Before the first run: where the streams begin that random operators without a seed of their own draw from.
  /// Sessions of one seed draw the same numbers; 0 unless set.
  void set_seed(std::uint64_t seed);
  /// Lets run() give results with padding, where that spares a copy: a result that appends to an input, once requests
  /// have carried it, has a capacity for more. Without this results are dense.
  void allow_padding(bool allow) { context_.padded_results = allow; }
  /// Before the first run: without kernels of the numeric class "fast", whose sums are less exact.
  void set_strict(bool strict) { context_.fast = !strict; }
  /// Between runs: gives the memory back that stays from run to run, of all specialisations. The next run takes it
  /// anew.
  void trim();
  void set_observer(Observer* observer) { context_.observer = observer; }
  /// Makes a run in progress end with Code::cancelled soon; from any thread. The next run starts clean.
  void cancel() noexcept { context_.execution_limits.cancel(); }
  /// A run that begins while `*stop` is set is cancelled, and takes it back; null: none is. Who exchanges it for true,
  /// with acquire and release, and then calls cancel() ends a run whether or not it has begun. `stop` outlives the
  /// session.
  void set_stop(std::atomic<bool>* stop) { stop_ = stop; }
  const Counters& counters() const { return context_.counters; }
  const Executable& executable() const { return *executable_; }
  /// Bytes that count against the memory limit now: arena, growing buffers, scratch, sequences.
  std::size_t held_bytes() const { return context_.execution_limits.meter()->used(); }

 private:
  std::shared_ptr<Executable> executable_;
  RunContext context_;
  Specialisations specialisations_;
  std::atomic<bool>* stop_ = nullptr;
};

}  // namespace frazil::exec
