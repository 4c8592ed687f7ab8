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

/// A debugger that runs a model step by step, including fused kernels, and stops where values are computed: see
/// docs/reference/debugging.md. The run has its own thread, which waits while the run is stopped. Not thread-safe,
/// except cancel(). A call on a moved-from debugger throws Code::bad_input.
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
  /// Throws the same errors as Model::open.
  explicit Debugger(const Model& model, const Options& options = {});
  Debugger(Debugger&&) noexcept;
  Debugger& operator=(Debugger&&) noexcept;
  ~Debugger();

  enum class Why : std::uint8_t { step, breakpoint, ended };
  struct Stop {
    Why why = Why::ended;
    std::string value;                     ///< the value that was computed last, by its name or as NODE:1
    std::string node, op;                  ///< the node that computes it; empty for a parameter of a body
    std::vector<std::int64_t> iterations;  ///< iterations of the enclosing loops, outermost first
    std::vector<std::string> around;  ///< enclosing bodies and functions, outermost first: "node 'Loop_3' (Loop), body"
    std::uint32_t breakpoint = 0;     ///< number of the breakpoint
  };

  /// Starts a run and continues to a breakpoint or the end. Ends a run that was stopped. Throws the same errors as
  /// Session::run, and the errors of the run itself; the values that the run computed can then be read.
  Stop run(std::initializer_list<Named> inputs);
  Stop run(std::span<const Named> inputs);
  /// The point to which a run continues.
  enum class Until : std::uint8_t {
    next_node,   ///< at any depth
    step_over,   ///< over If, Loop and functions
    step_into,   ///< into the next If, Loop or function
    step_out,    ///< out of the enclosing one
    breakpoint,  ///< or to the end
  };
  /// Start a run, or continue one, to this point. go() throws Code::bad_input if no run is stopped.
  Stop run(std::span<const Named> inputs, Until until);
  Stop go(Until until);
  /// Starts a run and stops at the first node.
  Stop start(std::span<const Named> inputs);
  /// Continue the run. step() goes to the next node. next() goes over If, Loop and functions, into() into the next of
  /// them, and out() out of the enclosing one. resume() goes to a breakpoint. Throw Code::bad_input if no run is
  /// stopped, and the errors of the run.
  Stop step();
  Stop next();
  Stop into();
  Stop out();
  Stop resume();

  /// Adds a breakpoint: "NAME", "nan", "NAME > 3", ...; see docs/reference/debugging.md. Returns its number. Throws
  /// Code::bad_input for other texts.
  std::uint32_t add_breakpoint(std::string_view what);
  /// Throws Code::bad_input if no breakpoint has this number.
  void remove_breakpoint(std::uint32_t number);
  struct Breakpoint {
    std::uint32_t number = 0;
    std::string text;     ///< as given to add_breakpoint()
    std::string missing;  ///< the reason why no run can meet it; empty if one can
  };
  std::vector<Breakpoint> breakpoints() const;

  /// Returns a value, or the first output of a node, as it was last computed or set. Throws Code::bad_input for names
  /// that the model does not have, and for a value that has not been computed.
  Array value(std::string_view name);
  /// Replaces the last computed value of this name by a value of the same type. The run starts again and stops where
  /// the value is computed. Throws Code::bad_input for another type.
  Stop set(std::string_view name, const Array& value);
  /// Returns the names of all values in the order of the model, including the values that passes removed.
  std::vector<std::string> values() const;
  struct ValueInfo {
    std::string type;     ///< as Port::full_type
    std::string node;     ///< as in errors: "node 'If_12' (If)"; empty for a parameter of a body
    std::string missing;  ///< as why_missing()
  };
  /// Describes a value. Throws Code::bad_input for names that the model does not have.
  ValueInfo about(std::string_view name) const;
  /// Returns the reason why no step computes a value, or an empty text if a step does.
  std::string why_missing(std::string_view name) const;
  /// Returns the results of the last completed run, in order.
  std::vector<Array> results() const;
  /// Cancels a run in progress, which ends with Code::cancelled. Callable from any thread.
  void cancel() noexcept;

 private:
  struct Impl;
  Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

/// The options and tolerances of compare().
struct CompareOptions {
  Options a = {}, b = {.tier = "ref"};
  double rtol = 1e-3, atol = 1e-7;
  double of_largest = 1e-5;  ///< fraction of a tensor's largest magnitude, added to atol
};
struct Divergence {
  std::size_t compared = 0, differ = 0;  ///< values that both runs computed
  std::size_t only_a = 0, only_b = 0;    ///< names of values that only one run computed
  /// True if too few values have a counterpart: fewer than half of the values of the side with fewer values.
  bool inconclusive = false;
  std::string value, node, what;  ///< the first difference; empty if there is none
  std::vector<std::int64_t> iterations;
};
/// The values that a run computed, in order, or values from elsewhere, such as files.
struct Recording {
  struct Value {
    std::string name;
    std::string node = {};                      ///< as in errors; empty if unknown
    std::vector<std::int64_t> iterations = {};  ///< as in ValueEvent
    Array value;
  };
  std::vector<Value> values;
  std::optional<Error> error;  ///< of the run
};
/// Runs a model and keeps every value that the run computes, and its results. If the run fails, the recording has its
/// error and the values before it; Code::limit if values take more than Options::memory_limit. Throws the errors of
/// Model::open().
Recording record(const Model& model, std::span<const Named> inputs, const Options& options = {});

/// The allowed distance of floats: |a - b| <= atol + of_largest * max(|b|) + rtol * |b|, with the maximum over the
/// tensor.
struct Closeness {
  double rtol = 1e-3, atol = 1e-7;
  double of_largest = 1e-5;
};
/// Compares values of the same name, the k-th with the k-th; if one side has computed a value more often, the last
/// ones. Errors of the recordings are ignored.
Divergence compare(const Recording& a, const Recording& b, const Closeness& closeness = {});

/// A part of a model that fails like the whole model.
struct Reduced {
  Model model;
  std::vector<Array> inputs;  ///< by position
  std::string why;            ///< the difference, or the error
};
/// Returns the smallest part found of a model whose values differ between the options `a` and `b`, or whose run fails
/// only with `a`. The values of `b` are taken as correct; they become inputs of the part. Throws Code::bad_input if the
/// model does not fail.
Reduced reduce(const Model& model, std::span<const Named> inputs, const CompareOptions& options = {});

/// Runs both models, which may be the same, and compares values of the same name. Throws the errors of both runs.
Divergence compare(const Model& a, const Model& b, std::span<const Named> inputs, const CompareOptions& options = {});

}  // namespace frazil::api
