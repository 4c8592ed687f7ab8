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

// Define by run: ordinary code whose array operators are recorded. Reading a value runs the recorded operators
// together.
namespace frazil::api {

class Operand;

/// An array that may not have been computed yet. Operators on it are recorded. Reading it runs only the operators that
/// it depends on. They are compiled once for each structure of recorded operators; other extents use the same program.
///
/// A LazyArray is a handle: copying is cheap. Arrays that depend on each other belong to one thread at a time;
/// parameters may be shared.
///
///   auto w = frazil::parameter(weights);
///   auto y = gelu(matmul(x, w) + b);     // records
///   float first = y.value().number(0);   // runs
class LazyArray {
 public:
  LazyArray() noexcept = default;  ///< an omitted optional input
  /// Wraps a value of any kind, whose elements must not change afterwards. A program may contain an i64 array of at
  /// most 16 elements as a constant, until a few different arrays have been used in its place. Use i32 for short lists
  /// of indices.
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
  /// Returns the value. Throws the errors of the run, and Code::bad_input while a function is traced, because a graph
  /// has no values. `std::move(array).value()` returns unshared memory if nothing else holds the value.
  Array value() const&;
  Array value() &&;
  /// Returns the value of an array with one element.
  template <class T>
  T item() const {
    return value().template item<T>();
  }
  /// Return the element type and the extents. Run the operators that they depend on if only a run determines them.
  Dtype dtype() const;
  Sizes shape() const;
  /// Returns row `index` of the first axis; a negative index counts from the end. A row of a parameter is recognised as
  /// such: a Function caches results that it computes only from such rows.
  LazyArray operator[](std::int64_t index) const;
  /// Returns whether the array is a parameter.
  bool is_parameter() const;
  /// Returns the passes and the plan of the operators that this array depends on.
  std::string explain() const;

 private:
  friend struct LazyAccess;
  void* node_ = nullptr;
  std::uint32_t output_ = 0;
};

/// Runs the operators that these arrays depend on in one program. A value that several arrays need is computed once.
/// Throws the same errors as value().
void evaluate(std::span<const LazyArray> arrays);

/// Returns row `index` of a parameter. Throws Code::bad_input if there is no such row.
LazyArray row(const LazyArray& parameter, std::int64_t index);

/// Counts of programs of recorded operators since the process began, and the present size of their cache.
struct ProgramCounts {
  std::uint64_t made = 0;         ///< programs made
  std::uint64_t found = 0;        ///< runs of structures that have a program
  std::uint64_t without = 0;      ///< runs of structures without a program, because compiling one did not pay yet
  std::size_t kept = 0;           ///< structures that have a program at present
  std::size_t kept_bytes = 0;     ///< bytes of their graphs and plans, at most FRAZIL_LAZY_BYTES
  std::size_t session_bytes = 0;  ///< bytes of values that the programs' sessions keep between runs
};
ProgramCounts program_counts();

/// Makes a parameter: a value that never changes, such as a weight. Programs contain it as a constant.
LazyArray parameter(const Array& value);

/// A line of the user's program, which errors name. `file` must outlive the operators recorded at this line.
struct Line {
  Line(std::source_location where = std::source_location::current()) : file(where.file_name()), number(where.line()) {}
  Line(const char* file_, std::uint32_t number_) : file(file_), number(number_) {}
  const char* file;  ///< null: unknown
  std::uint32_t number;
};

/// An argument of an operator: an array, or a number. A number takes the element type of the arrays beside it.
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
  std::int64_t whole_ = 0;  // the number if integer_ is set
  bool integer_ = false;
  Line line_;
};

/// An operator with its attributes. The arguments are those of Body::op.
///
///   static const frazil::Operator softmax("Softmax", {{"axis", -1}});
///   auto y = softmax({x});
class Operator {
 public:
  /// Throws Code::unsupported for an unknown operator, and Code::bad_model for attributes that it does not have.
  explicit Operator(std::string_view name, const Attributes& attributes = {}, std::size_t outputs = 1);
  /// Records a node. Throws Code::bad_model, naming the caller's line, for inputs that do not fit.
  LazyArray operator()(std::initializer_list<Operand> inputs) const {
    return (*this)(std::span(inputs.begin(), inputs.size()));
  }
  LazyArray operator()(std::span<const Operand> inputs) const;
  /// Returns all results of an operator with several.
  std::vector<LazyArray> all(std::span<const Operand> inputs) const;

 private:
  const void* operation_;
};

/// A function that is recorded as a graph. The first call with arguments of given element types and ranks runs the code
/// once to record it. Each call records one node; in a batch, equal calls of all instances run together. Results are
/// cached while all arguments are rows of parameters. A handle; thread-safe.
class Function {
 public:
  using Body = std::function<std::vector<LazyArray>(std::span<const LazyArray> arguments)>;
  Function(std::string name, Body body);
  Function(const Function&) = default;
  Function& operator=(const Function&) = default;
  std::vector<LazyArray> call(std::span<const Operand> arguments) const;
  /// Calls the function and writes to `results`. Throws Code::bad_input if the code returns another number of arrays.
  void call(std::span<const Operand> arguments, std::span<LazyArray> results) const;
  /// A function that returns a name for each position.
  using Naming = std::function<std::string(std::size_t)>;
  /// Returns the graph for arguments such as these as a model, which can be saved as ONNX. By default, inputs are named
  /// x0, x1, ... and outputs y0, y1, .... Outputs are named after the code has run.
  Model model(std::span<const LazyArray> arguments, const Naming& input = {}, const Naming& output = {}) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

namespace detail {

/// Converts results of user code to a list and back.
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

/// A function in the form in which the user writes it: takes LazyArrays and returns one, or an array, a tuple or a
/// vector of them.
template <class F>
class Traced {
 public:
  Traced(std::string name, F body) : name_(std::move(name)), body_(std::move(body)) {}

  /// Calls the function. Arguments are lazy arrays, arrays and numbers.
  template <class... A>
  auto operator()(const A&... arguments) const {
    using R = std::invoke_result_t<F&, detail::ArgumentAt<A>...>;
    return call<R>(std::array<Operand, sizeof...(A)>{
        Operand(arguments)...});  // operands refer to objects that live as long as this expression
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

  /// The state that copies share.
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

/// Makes a function that is recorded as a graph; see Function.
///
///   auto cell = frazil::function("cell", [&](LazyArray h, LazyArray x) { return tanh(matmul(h, u) + x); });
///   h = cell(h, x);
template <class F>
Traced<F> function(std::string name, F body) {
  return {std::move(name), std::move(body)};
}

using Arrays = std::vector<LazyArray>;

namespace detail {

/// Adds a control-flow node to the graph while a function is traced. The node has this many results, or as many as its
/// first body returns. Returns nullopt if no function is traced. Bodies take their parameters and return their results.
using Region = std::function<Arrays(const Arrays& params)>;
std::optional<Arrays> region(std::string_view op, const Arrays& inputs, std::size_t params,
                             std::span<const Region> bodies, std::optional<std::size_t> results);

}  // namespace detail

// ---- batches ----

struct BatchOptions {
  std::size_t at_once = 1024;             ///< maximal number of instances that have started and not ended
  std::size_t stack_bytes = 256U << 10U;  ///< bytes of the stack of each instance
  /// Called with the number of an instance each time it is about to wait. An Error that it throws ends the instance,
  /// for example after a deadline or a cancellation. May be empty.
  std::function<void(std::size_t instance)> check = {};
  bool always = false;  ///< BatchedModel: run requests together even if one after the other is faster
};
/// The counts of a batch.
struct BatchReport {
  std::uint64_t instances = 0;
  std::uint64_t waits = 0;     ///< times that an instance waited for a value
  std::uint64_t rounds = 0;    ///< times that all instances waited and their values were computed
  std::uint64_t runs = 0;      ///< runs of compiled programs
  std::uint64_t nodes = 0;     ///< recorded operators and calls that the runs computed
  std::uint64_t recalled = 0;  ///< function calls that returned cached results
};

namespace detail {

// Hooks for languages that have their own arrays, fibers and lock.

/// Returns whether the calling thread records a graph.
bool tracing();
/// Returns whether the array is a value of a recorded graph, which has no elements.
bool is_traced(const LazyArray& array);
/// Returns the extents as LazyArray::shape() does, with -1 for each symbol of a recorded graph.
Sizes extents(const LazyArray& array);
/// Returns whether the value is computed, so that reading it runs nothing.
bool is_there(const LazyArray& array);
/// Returns a number as an array of this element type. A program may contain it as a constant. Throws Code::bad_input
/// for types that numbers do not convert to.
LazyArray literal(Operand number, Dtype dtype);
/// Returns the number of function calls of this thread that returned cached results.
std::uint64_t recalled();
/// Discards the calls of this thread that wait to be computed for the caches of functions.
void forget_thread();

/// Sets the lock of an interpreter, which guards the arrays of its threads. Programs run without the lock, so that
/// other threads can take it.
///
/// `locked` returns whether this thread holds it. `unlocked` calls `work` without it, and may throw afterwards. Until
/// `work` returns, a call of `cancel` on any thread or in a signal handler makes it end soon. Call set_lock() once in a
/// process, before anything runs.
void set_lock(bool (*locked)(),
              void (*unlocked)(const std::function<void()>& work, const std::function<void()>& cancel));

/// A batch of instances on fibers that batch() did not create.
class Instances {
 public:
  virtual ~Instances() = default;
  /// Waits, in an instance that needs these values, until `settle_together` has computed them. Returns the error of the
  /// instance, if any.
  virtual std::optional<Error> await(std::span<const LazyArray> wanted) = 0;
};
/// A scope in which this thread runs one of these instances. With null, reads run immediately. An instance that
/// continues while another one waits needs its own Joined, so that the scopes end in reverse order.
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
/// Computes the values that each instance waits for, as batch() does when all instances wait. Returns the error of each
/// instance whose values could not be computed. Adds to `report`.
std::vector<std::optional<Error>> settle_together(std::span<const std::vector<LazyArray>> wanted, BatchReport& report);

BatchReport run_batch(std::size_t count, const std::function<void(std::size_t)>& body, const BatchOptions& options);
/// Computes these values together with those of the other instances.
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

/// Runs `body` for all instances concurrently on the calling thread, each on its own stack. An instance that reads a
/// value waits. When all instances wait, equal operators of all instances run together.
///
/// Bodies are ordinary code with ordinary control flow. Results are computed before batch() returns. If bodies throw,
/// the other bodies still end, and then the exception of the first one is thrown.
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

/// A model in a form for batches. The parts between its control flow are functions. Its branches and loops read values
/// and continue accordingly. Requests that take different branches or iterations share the runs of their common parts.
/// A handle; thread-safe. Inputs and results are tensors.
///
///   auto results = frazil::BatchedModel(model).run(requests);   // as if each ran alone
class BatchedModel {
 public:
  explicit BatchedModel(const Model& model);
  BatchedModel(const BatchedModel&) = default;
  BatchedModel& operator=(const BatchedModel&) = default;
  /// Calls the model, in an instance of a batch or elsewhere. Inputs are given by position; omitted ones take their
  /// default. Throws Code::bad_input, naming the input, for values that do not fit.
  std::vector<LazyArray> operator()(std::span<const LazyArray> inputs) const;
  /// Returns whether running requests together is estimated to be faster than one after the other, because they share
  /// the reading of large weights. Depends on the model and the machine.
  bool pays() const;
  /// Returns the results of each request. Runs them in a batch if pays() or BatchOptions::always, else one after the
  /// other. Each request has its inputs by position.
  std::vector<std::vector<Array>> run(std::span<const std::vector<Array>> requests, const BatchOptions& options = {},
                                      BatchReport* report = nullptr) const;
  struct Outcome {
    std::vector<Array> results;
    std::exception_ptr error;  ///< null: there are results
  };
  /// Runs requests as run() does, but a request that fails does not affect the others.
  std::vector<Outcome> outcomes(std::span<const std::vector<Array>> requests, const BatchOptions& options = {},
                                BatchReport* report = nullptr) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace frazil::api
