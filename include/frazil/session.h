#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <frazil/array.h>

namespace frazil::api {

class Observer;
class Profiler;

/// The options of a session. Options that are not set are taken from the environment (`frazil knobs`). A run that
/// exceeds a limit throws Code::limit.
struct Options {
  /// "auto" is the tier of FRAZIL_TIER, or else "adaptive". "adaptive" compiles in the background. "ref" is the slow
  /// reference executor. "0" compiles nothing. "1" compiles fused bodies before they run, "2" also whole plans. Results
  /// have equal bits on all tiers except "ref".
  std::string tier = "auto";
  static constexpr unsigned kMaxThreads = 1024;
  std::optional<unsigned> threads;            ///< threads of one run; 0: one per core. At most kMaxThreads
  std::optional<std::uint64_t> memory_limit;  ///< bytes of intermediate values
  std::optional<std::uint64_t> arena_limit;   ///< bytes of intermediate values kept between runs
  std::optional<std::uint64_t> max_elements;  ///< per tensor
  std::optional<std::uint64_t> max_steps;     ///< per run
  std::optional<double> deadline_ms;          ///< per run, in milliseconds
  std::uint64_t seed = 0;  ///< seed of random operators that have none; equal seeds draw equal numbers
  bool strict_numerics =
      false;  ///< excludes kernels of the numeric class "fast", whose sums are less exact (docs/reference/operators.md)
};

/// The counts of a session since it was opened.
struct Counters {
  std::uint64_t runs = 0;
  std::uint64_t plans = 0;          ///< plans used; a second one is made only when a branch changes a rank
  std::uint64_t shape_changes = 0;  ///< register groups recomputed because an extent changed
  std::uint64_t prepared = 0;       ///< kernel steps prepared for new extents
  std::uint64_t iterations = 0;     ///< iterations of loops
  std::size_t held_bytes = 0;       ///< bytes held for intermediate values at present
  std::uint64_t entered = 0;        ///< entries into machine code of a plan
  std::uint64_t missed = 0;         ///< of these, exits because a guard of the code did not hold
};

/// The name and value of an input.
struct Named {
  std::string_view name;
  Array value;
};

/// The results of a run, by position or by name.
class Results {
 public:
  /// Throw Code::bad_input if there is no such output.
  const Array& operator[](std::size_t i) const;
  const Array& operator[](std::string_view name) const;
  /// Moves a result out, so that nothing else shares its memory. Throws Code::bad_input if there is no such output.
  Array take(std::size_t i);
  std::size_t size() const { return values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  friend class Session;
  friend struct Access;
  std::vector<Array> values_;
  std::shared_ptr<const std::vector<std::string>> names_;
};

/// A session that runs a model, one run at a time. It holds memory, extents and loop state. It is cheap to open and
/// keeps its model alive. Not thread-safe, except cancel(). Remains usable after an error. A call that needs the
/// session while one of its runs is in progress throws Code::bad_input, and so does a call on a moved-from session.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Runs with inputs by name: session.run({{"x", x}, {"state", s}}). Omitted inputs take their default. Throws
  /// Code::bad_input, naming the input, for an unknown name, a name given twice, or a value that does not fit the
  /// input's type.
  ///
  /// A result that extends an input, such as a KV cache, is not copied when it is passed as that input in a later run.
  /// Earlier Arrays keep their values.
  Results run(std::initializer_list<Named> inputs);
  Results run(std::span<const Named> inputs);
  /// Runs with inputs by position. An empty Array takes the default.
  Results run(std::span<const Array> inputs);
  /// Runs with inputs by position and writes to `results`. Their memory is reused if extents agree and no other Array
  /// shares it.
  void run(std::span<const Array> inputs, Results& results);
  /// Runs as run() does and adds inner values to the results, under their names as in Observer::wanted(). A value in
  /// loops is the last one; a value in a branch that was not taken is an empty Array. Throws Code::bad_input for a name
  /// that the model does not have, and Code::unsupported for a value that the passes have removed (tier "ref" has all).
  ///
  ///   auto out = session.fetch({{"x", x}}, {"relu_3"});
  ///   const Array& inner = out["relu_3"];
  Results fetch(std::initializer_list<Named> inputs, const std::vector<std::string>& values);
  Results fetch(std::span<const Named> inputs, const std::vector<std::string>& values);

  /// Runs as run() does, on one of the process's request threads. There is at most one request thread per core, so
  /// requests wait in a queue, in order. The future becomes ready when the session is free for its next run; its get()
  /// throws the error of the run.
  ///
  /// Concurrent requests need one session each. The deadline counts from this call. Functions of observers, policies
  /// and host operators are called on the request thread. The destructor cancels a request and waits for its end.
  std::future<Results> run_async(std::vector<Array> inputs);

  /// Calls a function later, on any thread.
  using Post = std::function<void(std::function<void()>)>;
  /// Receives the results of a run, or the exception that run() would have thrown. Must not throw.
  using Done = std::function<void(Results, std::exception_ptr)>;
  /// Runs as run() does, but holds no thread while an asynchronous operator (HostOperator::start) works. This thread
  /// runs until the first of them has to wait, and each further part of the run is a call of `post`. `done` is called
  /// once, on the thread of the last part, possibly before start() returns; the session is then free.
  ///
  /// Throws the errors of run() that are known before the first node; `done` is then not called. cancel() ends the run
  /// through `post`. The destructor ends a run that waits with Code::cancelled, and waits for a part in progress.
  void start(std::vector<Array> inputs, Post post, Done done);
  /// Attaches a value of the program to the following runs, for its operators (HostStart::context). Call it between
  /// runs.
  void set_context(std::shared_ptr<void> context);

  /// Binds an output to the caller's memory: from the next run on, its results are written there, until it is bound
  /// again or unbound. If the plan allows it, they are computed there; otherwise they are copied once. The result's
  /// Array is a view of the memory.
  ///
  /// The memory must stay valid while it is bound, and nothing else may use it during a run. Runs throw Code::bad_input
  /// if it is too small; after a failed run its content is unspecified. Throws Code::bad_input for an unknown output,
  /// an output that is not a tensor of this type, strings, and memory that another output is bound to.
  void bind_output(std::string_view name, Dtype dtype, std::span<std::byte> memory);
  template <class T>
  void bind_output(std::string_view name, std::span<T> memory) {
    bind_output(name, dtype_of<T>(), std::as_writable_bytes(memory));
  }
  void unbind_output(std::string_view name);

  /// Replaces Options::deadline_ms for the following runs. nullopt means no deadline.
  void set_deadline(std::optional<double> milliseconds);
  /// Frees the memory that is kept for the next run, which allocates it again. Call it between runs.
  void trim();
  /// Makes the run in progress, or the waiting request, stop soon with Code::cancelled. Callable from any thread. The
  /// next run is not affected.
  void cancel() noexcept;
  /// Sets a stop flag: runs that begin while `*stop` is set end with Code::cancelled. null removes it. To stop a run in
  /// any state, set the flag, then call cancel(). `stop` must outlive the session, or be removed before it is
  /// destroyed.
  void set_stop(const std::atomic<bool>* stop);
  /// Sets the observer, or removes it with null. `observer` must outlive the session or be removed before it is
  /// destroyed. Throws Code::bad_input for a wanted value that the model does not have; the session then has no
  /// observer.
  void set_observer(Observer* observer);
  /// Records the following runs in `profiler`, until stop_profile() or the end of the session. Profiled runs go step by
  /// step on one thread, without machine code for whole plans; results have the same bits. Throws Code::bad_input if
  /// the session is profiled already or the profiler is used by another session, and Code::unsupported on tier "ref".
  void start_profile(const Profiler& profiler);
  /// Does nothing if the session is not profiled.
  void stop_profile();
  Counters counters() const;
  /// Describes how each kernel step runs now, one line per step: its number, its tier, its nodes, and why it is on no
  /// higher tier. Then lists the machine code of plans with their extents.
  std::string explain() const;

 private:
  friend class Model;
  friend struct Access;
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::api
