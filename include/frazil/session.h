#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
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

/// How a session runs. Options that are not set are taken from the environment (`frazil knobs`). A run that exceeds a
/// limit throws Code::limit.
struct Options {
  /// "auto": what takes time is compiled in the background; "ref": the slow reference executor; "0": nothing is
  /// compiled; "1", "2": fused bodies, or also whole plans, are compiled at once. Bits are equal on all but "ref".
  std::string tier = "auto";
  std::optional<unsigned> threads;            ///< of one run; 0: one per core. More than 1024: Code::bad_input
  std::optional<std::uint64_t> memory_limit;  ///< bytes of intermediate values
  std::optional<std::uint64_t> arena_limit;   ///< bytes of intermediate values kept between runs
  std::optional<std::uint64_t> max_elements;  ///< per tensor
  std::optional<std::uint64_t> max_steps;     ///< per run
  std::optional<double> deadline_ms;          ///< per run, in milliseconds
  std::uint64_t seed = 0;  ///< of random operators without a seed of their own; equal seeds draw equal numbers
  bool strict_numerics =
      false;  ///< no kernels of the numeric class "fast", whose sums are less exact (docs/operators.md)
};

/// What a session has done since it was opened.
struct Counters {
  std::uint64_t runs = 0;
  std::uint64_t plans = 0;          ///< plans used; a second one is made only when a branch changes a rank
  std::uint64_t shape_changes = 0;  ///< register groups recomputed because an extent changed
  std::uint64_t prepared = 0;       ///< kernel steps prepared for new extents
  std::uint64_t iterations = 0;     ///< of loops
  std::size_t held_bytes = 0;       ///< memory held for intermediate values at present
};

/// An input's name and value.
struct Named {
  std::string_view name;
  Array value;
};

/// The results of a run, by position or by name.
class Results {
 public:
  /// Throw Code::bad_input when there is no such output.
  const Array& operator[](std::size_t i) const;
  const Array& operator[](std::string_view name) const;
  /// Moves a result out, so that nothing else shares its memory. Throws Code::bad_input when there is no such output.
  Array take(std::size_t i);
  std::size_t size() const { return values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  friend class Session;
  std::vector<Array> values_;
  std::shared_ptr<const std::vector<std::string>> names_;
};

/// Runs a model, one run at a time: holds memory, extents and loop state. Cheap to open; keeps its model alive. Not
/// thread-safe, except cancel(). Remains usable after an error. A call that needs the session while a run of it is in
/// progress throws Code::bad_input, and so does a call on a session that was moved from.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Inputs by name: session.run({{"x", x}, {"state", s}}). Inputs that are not given take their default. Throws
  /// Code::bad_input, naming the input, for an unknown name, a name given twice, or a value that does not fit the
  /// input's type. A result that extends an input, such as a KV cache, is not copied when it is passed back as that
  /// input in a later run; earlier Arrays keep their values.
  Results run(std::initializer_list<Named> inputs);
  Results run(std::span<const Named> inputs);
  /// Inputs by position; an empty Array takes the default.
  Results run(std::span<const Array> inputs);
  /// As above, into `results`. Their memory is reused where extents agree and no other Array shares it.
  void run(std::span<const Array> inputs, Results& results);
  /// As run(), and the results also have these inner values, under their names as in Observer::wanted(): of a value in
  /// loops the last one, of a value in a branch that was not taken an empty Array. Throws Code::bad_input for a name
  /// that the model does not have, and Code::unsupported for a value that the passes have removed (tier "ref" has all).
  ///
  ///   auto out = session.fetch({{"x", x}}, {"relu_3"});
  ///   const Array& inner = out["relu_3"];
  Results fetch(std::initializer_list<Named> inputs, const std::vector<std::string>& values);
  Results fetch(std::span<const Named> inputs, const std::vector<std::string>& values);

  /// As run(), on one of the process's request threads, of which there is one per core at most; requests begin in the
  /// order in which they came, so a long queue waits, but starts no threads. The future becomes ready when the session
  /// is free for its next run; an error is thrown by get(). Several requests at a time need several sessions. The
  /// deadline counts from this call. Functions of observers, policies and host operators are called on that thread. The
  /// destructor cancels a request and waits for its end.
  std::future<Results> run_async(std::vector<Array> inputs);

  /// Has the results of this output written into the caller's memory from the next run on, until it is bound anew or
  /// unbound. Where the plan allows it, they are computed there; otherwise they are copied once. The result's Array is
  /// a view of the memory. Runs throw Code::bad_input when it is too small; after a failed run its content is
  /// unspecified. It must stay valid while it is bound, and nothing else may use it during a run. Throws
  /// Code::bad_input for an unknown output, one that is no tensor of this type, strings, and memory that another output
  /// is bound to.
  void bind_output(std::string_view name, Dtype dtype, std::span<std::byte> memory);
  template <class T>
  void bind_output(std::string_view name, std::span<T> memory) {
    bind_output(name, dtype_of<T>(), std::as_writable_bytes(memory));
  }
  void unbind_output(std::string_view name);

  /// Replaces Options::deadline_ms for the runs that begin from now on; nullopt: none.
  void set_deadline(std::optional<double> milliseconds);
  /// Between runs: frees the memory kept for the next run, which allocates it again.
  void trim();
  /// Makes the run in progress, or the request that waits for its turn, stop soon with Code::cancelled. Callable from
  /// any thread. The next run is not affected.
  void cancel() noexcept;
  /// Runs that begin while `*stop` is set end with Code::cancelled; null: none do. Who sets it and then calls cancel()
  /// ends a run whether or not it has begun. `stop` must outlive the session, or be removed before it is destroyed.
  void set_stop(const std::atomic<bool>* stop);
  /// Sets the observer, or removes it with null. `observer` must outlive the session or be removed before it is
  /// destroyed. Throws Code::bad_input for a wanted value that the model does not have; the session then has no
  /// observer.
  void set_observer(Observer* observer);
  Counters counters() const;

 private:
  friend class Model;
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::api
