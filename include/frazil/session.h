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

/// How a session runs. What is left open comes from the environment's knobs (`frazil knobs`).
struct Options {
  std::string tier = "auto";                  ///< "auto"; "ref", the slow reference executor; "0", the tape
  std::optional<unsigned> threads;            ///< of one run; 0: one per core; past 1024: Code::bad_input
  std::optional<std::uint64_t> memory_limit;  ///< bytes of intermediate values; past it: Code::limit
  std::optional<std::uint64_t> arena_limit;   ///< bytes of them that stay from run to run; past it: Code::limit
  std::optional<std::uint64_t> max_elements;  ///< of one tensor; past it: Code::limit
  std::optional<std::uint64_t> max_steps;     ///< per run; past it: Code::limit
  std::optional<double> deadline_ms;          ///< per run, in milliseconds; past it: Code::limit
  std::uint64_t seed = 0;        ///< of random operators without one; sessions of one seed draw the same numbers
  bool strict_numerics = false;  ///< no approximations of the class "fast"; this version has none: it changes nothing
};

/// What a session did since it was opened.
struct Counters {
  std::uint64_t runs = 0;
  std::uint64_t plans = 0;          ///< plans used; only a branch that changes a rank makes another
  std::uint64_t shape_changes = 0;  ///< groups of extents computed anew
  std::uint64_t prepared = 0;       ///< steps prepared for new extents
  std::uint64_t iterations = 0;     ///< of loops
  std::size_t held_bytes = 0;       ///< of intermediate values, now
};

/// An input and what it gets.
struct Named {
  std::string_view name;
  Array value;
};

/// What a run gave, by position or by name.
class Results {
 public:
  const Array& operator[](std::size_t i) const { return values_.at(i); }
  /// Code::bad_input when there is no such output.
  const Array& operator[](std::string_view name) const;
  std::size_t size() const { return values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  friend class Session;
  std::vector<Array> values_;
  std::shared_ptr<const std::vector<std::string>> names_;
};

/// One thread's way to run a model: memory, shapes, loop state. Cheap to open; keeps its model alive. Only cancel() may
/// be called from another thread. After an error it can be used again.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// By name: session.run({{"x", x}, {"state", s}}). An input that is left out takes its default. A result that only
  /// adds to an input, as a KV cache does, is not copied when it comes back as that input of a later run; the Arrays of
  /// before stay what they are.
  Results run(std::initializer_list<Named> inputs);
  Results run(std::span<const Named> inputs);
  /// By position; an empty Array takes the default.
  Results run(std::span<const Array> inputs);
  /// The same into `results`, whose memory is used again where extents agree and nobody else holds it.
  void run(std::span<const Array> inputs, Results& results);

  /// Between runs: gives the memory back that stays from run to run. The next run takes it anew; nothing else changes.
  void trim();
  /// Ends the run in progress soon with Code::cancelled; from any thread. The next run starts clean.
  void cancel() noexcept;
  /// `observer` must outlive the session, or be replaced by null before it dies.
  void set_observer(Observer* observer);
  Counters counters() const;

 private:
  friend class Model;
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::api
