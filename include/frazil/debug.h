#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/model.h>
#include <frazil/session.h>

namespace frazil::api {

/// Runs a model step by step, fused kernels and all, and stops where values are made: see docs/debugging.md. The run
/// has a thread of its own, which waits while it is stopped. Not thread-safe, except cancel(). A call on a debugger
/// that was moved from throws Code::bad_input.
///
///   Debugger debugger(model);
///   debugger.add_breakpoint("nan");
///   auto stop = debugger.run({{"x", x}});
///   while (stop.why != Debugger::Why::ended) {
///     std::printf("%s: %zu axes\n", stop.value.c_str(), debugger.value(stop.value).sizes().size());
///     stop = debugger.next();
///   }
class Debugger {
 public:
  /// Throws what Model::open throws.
  explicit Debugger(const Model& model, const Options& options = {});
  Debugger(Debugger&&) noexcept;
  Debugger& operator=(Debugger&&) noexcept;
  ~Debugger();

  enum class Why : std::uint8_t { step, breakpoint, ended };
  struct Stop {
    Why why = Why::ended;
    std::string value;                     ///< what has just been made, by its name or as NODE:1
    std::string node, op;                  ///< that makes it; empty for a parameter of a body
    std::vector<std::int64_t> iterations;  ///< of the loops around it, outermost first
    std::vector<std::string> around;       ///< "node 'Loop_3' (Loop), body": bodies and functions, outermost first
    std::uint32_t breakpoint = 0;          ///< its number
  };

  /// Begins a run, and leaves one that was stopped; goes on to a breakpoint or the end. Throws as Session::run does,
  /// also when the run itself fails; values that it made can then be read.
  Stop run(std::initializer_list<Named> inputs);
  Stop run(std::span<const Named> inputs);
  /// The same, to the first node.
  Stop start(std::span<const Named> inputs);
  /// On to the next node; over If, Loop and functions; into the next one; out of the one around; to a breakpoint. Throw
  /// Code::bad_input when no run is stopped, and what the run fails with.
  Stop step();
  Stop next();
  Stop into();
  Stop out();
  Stop resume();

  /// "NAME", "nan", "NAME > 3", ...: see docs/debugging.md. Returns its number. Throws Code::bad_input for others.
  std::uint32_t add_breakpoint(std::string_view what);
  /// Throws Code::bad_input when there is none of this number.
  void remove_breakpoint(std::uint32_t number);

  /// A value, or the first output of a node, as it was last made or set. Throws Code::bad_input for names that the
  /// model does not have, and for a value that has not been made.
  Array value(std::string_view name);
  /// Puts a value of the same type in the place of the last one made; the run begins anew and stops where it is made.
  /// Throws Code::bad_input for another type.
  Stop set(std::string_view name, const Array& value);
  /// The names of all values in the order of the model; those that passes removed are among them.
  std::vector<std::string> values() const;
  /// Why no step makes a value; empty: one does.
  std::string why_missing(std::string_view name) const;
  /// Results of the last run that ended, in order.
  std::vector<Array> results() const;
  /// Makes a run in progress end with Code::cancelled. Callable from any thread.
  void cancel() noexcept;

 private:
  struct Impl;
  Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

/// How compare() runs and judges.
struct CompareOptions {
  Options a = {}, b = {.tier = "ref"};
  double rtol = 1e-3, atol = 1e-7;
  double of_largest = 1e-5;  ///< of a tensor's largest magnitude, added to atol
};
struct Divergence {
  std::size_t compared = 0, differ = 0;  ///< values that both runs made
  std::size_t only_a = 0, only_b = 0;    ///< names of values that one run made
  /// Too few values had a counterpart for a result: less than half of those of the side that has fewer.
  bool inconclusive = false;
  std::string value, node, what;  ///< the first that differs; empty: none
  std::vector<std::int64_t> iterations;
};
/// Runs both models, which may be the same, and compares values of the same name. Throws what a run throws.
Divergence compare(const Model& a, const Model& b, std::span<const Named> inputs, const CompareOptions& options = {});

}  // namespace frazil::api
