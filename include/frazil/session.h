#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/array.h>

namespace frazil::api {

class Observer;

/// How a session runs. Options that are not set are taken from the environment (`frazil knobs`). A run that exceeds a
/// limit throws Code::limit.
struct Options {
  std::string tier = "auto";  ///< "auto"; "ref": the slow reference executor; "0": the plan on hand-written kernels
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
  const Array& operator[](std::size_t i) const { return values_.at(i); }
  /// Throws Code::bad_input when there is no such output.
  const Array& operator[](std::string_view name) const;
  std::size_t size() const { return values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  friend class Session;
  std::vector<Array> values_;
  std::shared_ptr<const std::vector<std::string>> names_;
};

/// Runs a model on one thread: holds memory, extents and loop state. Cheap to open; keeps its model alive. Not
/// thread-safe, except cancel(). Remains usable after an error.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Inputs by name: session.run({{"x", x}, {"state", s}}). Inputs that are not given take their default. Throws
  /// Code::bad_input, naming the input, for an unknown name or a value that does not fit the input's type. A result
  /// that extends an input, such as a KV cache, is not copied when it is passed back as that input in a later run;
  /// earlier Arrays keep their values.
  Results run(std::initializer_list<Named> inputs);
  Results run(std::span<const Named> inputs);
  /// Inputs by position; an empty Array takes the default.
  Results run(std::span<const Array> inputs);
  /// As above, into `results`. Their memory is reused where extents agree and no other Array shares it.
  void run(std::span<const Array> inputs, Results& results);

  /// Between runs: frees the memory kept for the next run, which allocates it again.
  void trim();
  /// Makes the run in progress stop soon with Code::cancelled. Callable from any thread. The next run is not affected.
  void cancel() noexcept;
  /// Sets the observer, or removes it with null. `observer` must outlive the session or be removed before it is
  /// destroyed. Throws Code::bad_input for a wanted value that the model does not have; the session then has no
  /// observer.
  void set_observer(Observer* observer);
  Counters counters() const;

 private:
  friend class Model;
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::api
