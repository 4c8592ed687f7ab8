#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <frazil/array.h>
#include <frazil/build.h>
#include <frazil/model.h>

// Define by run: ordinary code whose array operators are recorded, and run together when a value is read.
namespace frazil::api {

class Operand;

/// An array that may not have been computed yet. Operators on it record; reading it runs what it depends on, and
/// nothing else. What runs is compiled once for each structure of recorded operators: other extents use it again. A
/// handle: copying is cheap. Arrays that depend on each other belong to one thread at a time; parameters may be shared.
///
///   auto w = frazil::parameter(weights);
///   auto y = gelu(matmul(x, w) + b);     // records
///   float first = y.value().number(0);   // runs
class LazyArray {
 public:
  LazyArray() noexcept = default;  ///< an omitted optional input
  /// Of any kind; its elements must not change afterwards. What is compiled may contain an i64 array of at most 16
  /// elements, until a few different ones were seen in its place: short lists of indices are better i32.
  LazyArray(const Array& value);
  LazyArray(const LazyArray& other);
  LazyArray(LazyArray&& other) noexcept : node_(std::exchange(other.node_, nullptr)), output_(other.output_) {}
  LazyArray& operator=(LazyArray other) noexcept {
    std::swap(node_, other.node_);
    std::swap(output_, other.output_);
    return *this;
  }
  ~LazyArray();

  explicit operator bool() const { return node_ != nullptr; }
  /// The value. Throws what a run throws, and Code::bad_input while a function is traced: a graph has no values. That
  /// of an array which is not used afterwards has memory of its own where nothing else holds the value.
  Array value() const&;
  Array value() &&;
  /// The value of an array with one element.
  template <class T>
  T item() const {
    return value().template item<T>();
  }
  /// Element type and extents; runs what they depend on where only a run tells.
  Dtype dtype() const;
  Sizes shape() const;
  /// Row `index` of the first axis; negative ones count from the end. Of a parameter it is known to be one of its rows:
  /// what functions compute from such rows alone is remembered (Function).
  LazyArray operator[](std::int64_t index) const;
  /// Whether it is a parameter.
  bool is_parameter() const;
  /// How what this array depends on would run: the passes and the plan.
  std::string explain() const;

 private:
  friend struct LazyAccess;
  void* node_ = nullptr;
  std::uint32_t output_ = 0;
};

/// Runs what these arrays depend on, together: what several need is computed once. Throws what value() throws.
void evaluate(std::span<const LazyArray> arrays);

/// Row `index` of a parameter. Throws Code::bad_input where it has none.
LazyArray row(const LazyArray& parameter, std::int64_t index);

/// Programs of recorded operators: counts since the process began, and what it keeps now.
struct ProgramCounts {
  std::uint64_t made = 0;         ///< programs made
  std::uint64_t found = 0;        ///< runs of structures that had a program
  std::uint64_t without = 0;      ///< runs of structures that had none, because making one did not pay yet
  std::size_t kept = 0;           ///< structures that have a program now
  std::size_t kept_bytes = 0;     ///< bytes of their graphs and plans, at most FRAZIL_LAZY_BYTES
  std::size_t session_bytes = 0;  ///< bytes of values that their sessions keep between runs
};
ProgramCounts program_counts();

/// Weights: values that never change, which what is compiled contains.
LazyArray parameter(const Array& value);

/// A line of the user's program, which errors name. `file` must outlive what is recorded there.
struct Line {
  Line(std::source_location where = std::source_location::current()) : file(where.file_name()), number(where.line()) {}
  Line(const char* file_, std::uint32_t number_) : file(file_), number(number_) {}
  const char* file;  ///< null: unknown
  std::uint32_t number;
};

/// An argument of an operator: an array, or a number, which takes the element type of the arrays beside it.
class Operand {
 public:
  Operand(const LazyArray& array, Line line = std::source_location::current()) : array_(&array), line_(line) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T number, Line line = std::source_location::current())
      : number_(static_cast<double>(number)), integer_(std::is_integral_v<T>), line_(line) {
    if constexpr (std::is_integral_v<T>) whole_ = static_cast<std::int64_t>(number);
  }

 private:
  friend struct LazyAccess;
  const LazyArray* array_ = nullptr;
  double number_ = 0;
  std::int64_t whole_ = 0;  // the number, where integer_
  bool integer_ = false;
  Line line_;
};

/// An operator with its attributes, as Body::op takes them.
///
///   static const frazil::Operator softmax("Softmax", {{"axis", -1}});
///   auto y = softmax({x});
class Operator {
 public:
  /// Throws Code::unsupported for an unknown operator, and Code::bad_model for attributes that it does not have.
  explicit Operator(std::string_view name, const Attributes& attributes = {}, std::size_t outputs = 1);
  /// Records. Throws Code::bad_model, naming the caller's line, for inputs that do not fit.
  LazyArray operator()(std::initializer_list<Operand> inputs) const {
    return (*this)(std::span(inputs.begin(), inputs.size()));
  }
  LazyArray operator()(std::span<const Operand> inputs) const;
  /// All results of an operator with several.
  std::vector<LazyArray> all(std::span<const Operand> inputs) const;

 private:
  const void* operation_;
};

/// Code as a graph: at the first call with arguments of some element types and ranks it is run once to record it. Calls
/// record one node; in a batch, equal calls of all instances run as one. While all arguments are rows of parameters,
/// results are remembered and not computed again. A handle; thread-safe.
class Function {
 public:
  using Body = std::function<std::vector<LazyArray>(std::span<const LazyArray> arguments)>;
  Function(std::string name, Body body);
  Function(const Function&) = default;
  Function& operator=(const Function&) = default;
  std::vector<LazyArray> call(std::span<const Operand> arguments) const;
  /// As above, into `results`. Throws Code::bad_input where the code returns another number of arrays.
  void call(std::span<const Operand> arguments, std::span<LazyArray> results) const;
  /// A name for each position.
  using Naming = std::function<std::string(std::size_t)>;
  /// The graph as a model, which saves as ONNX, for arguments like these. Inputs are x0, x1, ..., outputs y0, y1, ...,
  /// if not named otherwise; outputs are once the code has run.
  Model model(std::span<const LazyArray> arguments, const Naming& input = {}, const Naming& output = {}) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

namespace detail {

/// Results of user code as a list, and back.
template <class R>
struct Listed {
  static constexpr std::size_t kCount = std::tuple_size_v<R>;
  static std::vector<LazyArray> list(R&& values) {
    return std::apply([](auto&&... each) { return std::vector<LazyArray>{std::move(each)...}; }, std::move(values));
  }
  static R from(std::array<LazyArray, kCount>&& values) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return R{std::move(values[I])...};
    }(std::make_index_sequence<std::tuple_size_v<R>>());
  }
};
template <>
struct Listed<LazyArray> {
  static constexpr std::size_t kCount = 1;
  static std::vector<LazyArray> list(LazyArray&& value) { return {std::move(value)}; }
  static LazyArray from(std::array<LazyArray, 1>&& values) { return std::move(values[0]); }
};
template <>
struct Listed<std::vector<LazyArray>> {
  static std::vector<LazyArray> list(std::vector<LazyArray>&& values) { return std::move(values); }
};

template <class>
using ArgumentAt = LazyArray;

template <class F, std::size_t... I>
auto spread(F& body, std::span<const LazyArray> arguments, std::index_sequence<I...>) {
  return body(arguments[I]...);
}

}  // namespace detail

/// A function as it is written: takes LazyArrays, returns one, or an array, a tuple or a vector of them.
template <class F>
class Traced {
 public:
  Traced(std::string name, F body) : name_(std::move(name)), body_(std::move(body)) {}

  /// Arguments are lazy arrays, arrays and numbers.
  template <class... A>
  auto operator()(const A&... arguments) const {
    using R = std::invoke_result_t<F&, detail::ArgumentAt<A>...>;
    return call<R>(std::array<Operand, sizeof...(A)>{
        Operand(arguments)...});  // operands refer to what lives as long as this expression
  }
  template <class... A>
  Model model(const A&... arguments) const {
    const std::array<LazyArray, sizeof...(A)> all{arguments...};
    return function<sizeof...(A)>().model(all);
  }

 private:
  template <class R, std::size_t Arity>
  R call(const std::array<Operand, Arity>& operands) const {
    if constexpr (std::is_same_v<R, std::vector<LazyArray>>) {
      return function<Arity>().call(operands);
    } else {
      std::array<LazyArray, detail::Listed<R>::kCount> results;
      function<Arity>().call(operands, results);
      return detail::Listed<R>::from(std::move(results));
    }
  }
  template <std::size_t Arity>
  const Function& function() const {
    if (const Function* const known = shared_->function.load()) return *known;
    auto made = std::make_unique<const Function>(name_, [body = body_](std::span<const LazyArray> arguments) mutable {
      auto results = detail::spread(body, arguments, std::make_index_sequence<Arity>());
      return detail::Listed<decltype(results)>::list(std::move(results));
    });
    const Function* first = nullptr;
    if (shared_->function.compare_exchange_strong(first, made.get())) return *made.release();
    return *first;
  }

  /// What copies have in common.
  struct Shared {
    Shared() = default;
    ~Shared() { delete function.load(); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    std::atomic<const Function*> function = nullptr;  ///< made by the first call
  };
  std::string name_;
  F body_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

/// Code as a graph; see Function.
///
///   auto cell = frazil::function("cell", [&](LazyArray h, LazyArray x) { return tanh(matmul(h, u) + x); });
///   h = cell(h, x);
template <class F>
Traced<F> function(std::string name, F body) {
  return {std::move(name), std::move(body)};
}

using Arrays = std::vector<LazyArray>;

namespace detail {

/// While a function is traced, a control-flow node of its graph with this many results, or as many as its first body
/// returns; elsewhere nothing. Bodies get their parameters and return their results.
using Region = std::function<Arrays(const Arrays& params)>;
std::optional<Arrays> region(std::string_view op, const Arrays& inputs, std::size_t params,
                             std::span<const Region> bodies, std::optional<std::size_t> results);

}  // namespace detail

// ---- batches ----

struct BatchOptions {
  std::size_t at_once = 1024;             ///< instances that have begun and not ended
  std::size_t stack_bytes = 256U << 10U;  ///< of each instance's function
  /// Called in an instance, by its number, each time that it is about to wait; an Error that it throws ends the
  /// instance. For deadlines, and for those that nobody wants any more. May be empty.
  std::function<void(std::size_t instance)> check = {};
  bool always = false;  ///< BatchedModel: also where requests take less time one after the other
};
/// What a batch did.
struct BatchReport {
  std::uint64_t instances = 0;
  std::uint64_t waits = 0;     ///< times that an instance waited for a value
  std::uint64_t rounds = 0;    ///< times that all waited, and what they waited for ran
  std::uint64_t runs = 0;      ///< of compiled programs
  std::uint64_t nodes = 0;     ///< recorded operators and calls that the runs served
  std::uint64_t recalled = 0;  ///< calls of functions whose results were remembered
};

namespace detail {

// For languages with arrays, fibers and a lock of their own.

/// Whether the calling thread records a graph.
bool tracing();
/// Whether the array is a value of a graph that is recorded, which has no elements.
bool is_traced(const LazyArray& array);
/// The extents; -1 where a graph that is recorded has a symbol. Otherwise as LazyArray::shape().
Sizes extents(const LazyArray& array);
/// Whether the value is there: reading it runs nothing.
bool is_there(const LazyArray& array);
/// A number as an array of this element type, which what is compiled may contain. Throws Code::bad_input for types that
/// numbers do not convert to.
LazyArray literal(Operand number, Dtype dtype);
/// How many calls of functions this thread has had answered from what they remember.
std::uint64_t recalled();
/// Lets go of what functions of this thread would have computed for later calls.
void forget_thread();

/// An interpreter's lock guards the arrays that its threads have: other threads get it while programs run.
/// `locked`: whether this thread has it. `unlocked` calls `work` without it; `cancel` makes that end soon, on any
/// thread and in signal handlers, until `work` returns. It may throw afterwards. For the process, before anything runs.
void set_lock(bool (*locked)(),
              void (*unlocked)(const std::function<void()>& work, const std::function<void()>& cancel));

/// Instances on fibers that batch() did not make.
class Instances {
 public:
  virtual ~Instances() = default;
  /// Called in an instance that needs these values, once `settle_together` is to make them there. Returns afterwards:
  /// none, or the error that it gave.
  virtual std::optional<Error> await(std::span<const LazyArray> wanted) = 0;
};
/// While it lives, this thread runs one of these instances; null: what is read runs at once. One goes on where another
/// one stopped with a Joined of its own, so that they end in reverse order.
class Joined {
 public:
  explicit Joined(Instances* instances);
  ~Joined();
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;

 private:
  void* before_;
  std::shared_ptr<void> here_;  // not on the stack, which fibers may move
};
/// Makes the values there that each instance waits for, as batch() does when all wait. The error of each instance whose
/// values could not be computed; adds to `report`.
std::vector<std::optional<Error>> settle_together(std::span<const std::vector<LazyArray>> wanted, BatchReport& report);

BatchReport run_batch(std::size_t count, const std::function<void(std::size_t)>& body, const BatchOptions& options);
/// Makes these values there, with those of the other instances.
void settle(std::span<const LazyArray* const> arrays);

inline void settle_result(const LazyArray& result) {
  const LazyArray* const one = &result;
  settle(std::span(&one, 1));
}
template <class R>
void settle_result(const std::vector<R>& results) {
  std::vector<const LazyArray*> all;
  if constexpr (std::is_same_v<R, LazyArray>) {
    for (const LazyArray& each : results) all.push_back(&each);
  }
  settle(all);
}
template <class R>
void settle_result(const R& result) {
  if constexpr (requires { std::tuple_size<R>::value; }) {
    std::apply([](const auto&... each) { (settle_result(each), ...); }, result);
  }
}

}  // namespace detail

/// Runs `body` on each instance, all at once: an instance that reads a value waits, and when all wait, equal work of
/// theirs runs together. Bodies are ordinary code, with ordinary control flow, on the calling thread, each on a stack
/// of its own. Results are computed before it returns. Where bodies throw, the others end, and then the exception of
/// the first of them is thrown.
///
///   auto scores = frazil::batch(trees, [&](const Tree& tree) { return score(tree); });
template <class Instances, class F>
auto batch(const Instances& instances, F&& body, const BatchOptions& options = {}, BatchReport* report = nullptr) {
  using R = std::invoke_result_t<F&, decltype(*std::begin(instances))>;
  std::vector<decltype(&*std::begin(instances))> places;
  for (const auto& instance : instances) places.push_back(&instance);
  std::vector<R> results(places.size());
  const BatchReport counts = detail::run_batch(
      places.size(),
      [&](std::size_t i) {
        results[i] = body(*places[i]);
        detail::settle_result(results[i]);
      },
      options);
  if (report != nullptr) *report = counts;
  return results;
}

/// A model as code for batches: what lies between its control flow are functions, and its branches and loops read
/// values and go on accordingly. Requests that take other branches, or iterate differently, share the runs of what they
/// have in common. A handle; thread-safe. Inputs and results are tensors.
///
///   auto results = frazil::BatchedModel(model).run(requests);   // as if each ran alone
class BatchedModel {
 public:
  explicit BatchedModel(const Model& model);
  BatchedModel(const BatchedModel&) = default;
  BatchedModel& operator=(const BatchedModel&) = default;
  /// Calls the model, in an instance of a batch or anywhere: inputs by position, omitted ones take their default.
  /// Throws Code::bad_input, naming the input, for values that do not fit.
  std::vector<LazyArray> operator()(std::span<const LazyArray> inputs) const;
  /// Whether requests that run together are estimated to take less time than one after the other: where they share the
  /// reading of large weights. Depends on the model and the machine.
  bool pays() const;
  /// The results of each request, as batch() of calls where that pays(), else one after the other. Requests have inputs
  /// by position.
  std::vector<std::vector<Array>> run(std::span<const std::vector<Array>> requests, const BatchOptions& options = {},
                                      BatchReport* report = nullptr) const;
  struct Outcome {
    std::vector<Array> results;
    std::exception_ptr error;  ///< null: there are results
  };
  /// As run(), where requests that fail leave the others alone.
  std::vector<Outcome> outcomes(std::span<const std::vector<Array>> requests, const BatchOptions& options = {},
                                BatchReport* report = nullptr) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace frazil::api
