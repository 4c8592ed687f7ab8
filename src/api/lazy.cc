#include <algorithm>
#include <exception>

#include <frazil/lazy.h>

#include "api/access.h"
#include "api/bind.h"
#include "api/lazy_access.h"
#include "api/open.h"
#include "lazy/batch/batch.h"
#include "lazy/batch/together.h"
#include "lazy/program/cone.h"
#include "lazy/program/programs.h"
#include "lazy/program/run.h"
#include "lazy/record/interpreter_hooks.h"
#include "lazy/record/record.h"
#include "lazy/record/trace.h"

namespace frazil::api {
namespace {

using lazy::Handle;
using lazy::NodeKind;
using lazy::Ref;

constexpr std::int64_t kMaxLiteral = 16;  // elements

struct Number {
  double real;
  std::optional<std::int64_t> whole;  ///< the number as an integer literal, if it was written so

  template <class T>
  Tensor scalar() const {
    if constexpr (std::is_integral_v<T>) {
      if (whole) return Tensor::scalar(static_cast<T>(*whole));
    }
    return Tensor::scalar(static_cast<T>(real));
  }
};

/// Returns a scalar of an element type, or nullopt for types that numbers do not convert to.
std::optional<Tensor> scalar_of(Elem elem, const Number& number) {
  switch (elem) {
    case Elem::f32: return number.scalar<float>();
    case Elem::f64: return number.scalar<double>();
    case Elem::i32: return number.scalar<std::int32_t>();
    case Elem::i64: return number.scalar<std::int64_t>();
    case Elem::i16: return number.scalar<std::int16_t>();
    case Elem::i8: return number.scalar<std::int8_t>();
    case Elem::u8: return number.scalar<std::uint8_t>();
    case Elem::u16: return number.scalar<std::uint16_t>();
    case Elem::u32: return number.scalar<std::uint32_t>();
    case Elem::u64: return number.scalar<std::uint64_t>();
    case Elem::f16: return number.scalar<frazil::Half>();
    case Elem::bf16: return number.scalar<frazil::BFloat16>();
    case Elem::boolean: return Tensor::scalar(number.real != 0);
    default: return std::nullopt;
  }
}

bool is_traced(const Ref& ref) { return ref.node != nullptr && ref.node->kind == NodeKind::traced; }

const Type& traced_type(const Ref& ref) {
  const lazy::Trace* const trace = lazy::Trace::current();
  if (trace == nullptr || !trace->owns(*ref.node)) {
    refuse(frazil::Code::bad_input, "a value of a traced function is used outside of it; return it instead");
  }
  return trace->graph().type(ref.node->out()[ref.output].traced);
}

const Shape& traced_shape(const Ref& ref) {
  const Type& type = traced_type(ref);
  if (!type.is_tensor() || !type.ranked) {
    refuse(frazil::Code::bad_input,
           "a traced function reads the extents of a value whose rank is only known at run time");
  }
  return type.shape;
}

Ref readable(const LazyArray& array) {
  const Ref ref = LazyAccess::ref(array);
  if (ref.node == nullptr) refuse(frazil::Code::bad_input, "an omitted lazy array has no value");
  if (is_traced(ref)) {
    refuse(frazil::Code::bad_input,
           "a traced function reads a value, which a graph does not have; decide by frazil::cond() or frazil::loop(), "
           "in Python "
           "frazil.cond() or frazil.while_loop()");
  }
  return ref;
}

const lazy::Output& there(const LazyArray& array) {
  const Ref ref = readable(array);
  check(lazy::run(ref));
  return ref.node->out()[ref.output];
}

}  // namespace

// ---- arrays ----

LazyArray::LazyArray(const Array& value) {
  start_lazy();
  const Datum datum = Access::dense(value);
  const bool literal = datum.is_tensor() && datum.tensor().elem() == Elem::i64 && datum.tensor().count() <= kMaxLiteral;
  *this = LazyAccess::array(lazy::of_datum(datum, literal ? NodeKind::literal : NodeKind::value).ref());
}

LazyArray::LazyArray(const LazyArray& other) : node_(other.node_), output_(other.output_) {
  lazy::retain(static_cast<lazy::Node*>(node_));
}

LazyArray::~LazyArray() { lazy::release(static_cast<lazy::Node*>(node_)); }

ProgramCounts program_counts() {
  const lazy::ProgramCounts counts = lazy::program_counts();
  return {.made = counts.made,
          .found = counts.found,
          .without = counts.without,
          .kept = counts.kept,
          .kept_bytes = counts.kept_bytes,
          .session_bytes = counts.session_bytes};
}

LazyArray parameter(const Array& value) {
  start_lazy();
  if (!value.is_tensor()) refuse(frazil::Code::bad_input, "a parameter must be a tensor");
  return LazyAccess::array(lazy::of_datum(Access::dense(value), NodeKind::parameter).ref());
}

Array LazyArray::value() const& { return Access::array(lazy::datum_of(there(*this))); }

Array LazyArray::value() && {
  Array value = static_cast<const LazyArray&>(*this).value();
  *this = LazyArray();
  return value;
}

void evaluate(std::span<const LazyArray> arrays) {
  std::vector<Ref> wanted;
  for (const LazyArray& array : arrays) wanted.push_back(readable(array));
  if (!wanted.empty()) check(lazy::run(wanted));
}

Dtype LazyArray::dtype() const { return static_cast<Dtype>(elem_of(LazyAccess::ref(*this))); }

Sizes LazyArray::shape() const {
  const Ref ref = LazyAccess::ref(*this);
  if (is_traced(ref)) {
    Sizes sizes;
    for (const Dim dim : traced_shape(ref)) {
      if (!dim.is_const()) {
        refuse(frazil::Code::bad_input,
               "a traced function reads the extent '{}', which is not fixed; use -1 in reshape()",
               lazy::Trace::current()->to().graph().scope().str(dim));
      }
      sizes.push_back(dim.value());
    }
    return sizes;
  }
  const lazy::KnownType* type = ref.node == nullptr ? nullptr : ref.node->out()[ref.output].type;
  if (type == nullptr) type = there(*this).type;
  if (type == nullptr) refuse(frazil::Code::bad_input, "the array is not a tensor and has no extents");
  return type->sizes;
}

Sizes detail::extents(const LazyArray& array) {
  const Ref ref = LazyAccess::ref(array);
  if (!detail::is_traced(array)) return array.shape();
  Sizes sizes;
  for (const Dim dim : traced_shape(ref)) sizes.push_back(dim.is_const() ? dim.value() : -1);
  return sizes;
}

bool LazyArray::is_parameter() const {
  const Ref ref = LazyAccess::ref(*this);
  return ref.node != nullptr && ref.node->kind == NodeKind::parameter;
}

LazyArray row(const LazyArray& parameter, std::int64_t index) {
  if (!parameter.is_parameter()) refuse(frazil::Code::bad_input, "row() of an array that is not a parameter");
  const Ref ref = LazyAccess::ref(parameter);
  const Sizes& sizes = ref.node->out()[0].type->sizes;
  if (sizes.empty() || index < -sizes[0] || index >= sizes[0]) {
    refuse(frazil::Code::bad_input, "row {} of a parameter with {} rows", index, sizes.empty() ? 0 : sizes[0]);
  }
  return LazyAccess::array(lazy::of_row(Handle(ref), index < 0 ? index + sizes[0] : index).ref());
}

std::string LazyArray::explain() const {
  const Ref ref = LazyAccess::ref(*this);
  if (ref.node == nullptr || !ref.node->pending()) return "nothing to run\n";
  lazy::Cone cone;
  if (!lazy::collect(std::span(&ref, 1), {.nodes = 1U << 12U}, cone))
    return "too many recorded operators for one program\n";
  const auto found = take(lazy::find_program(cone));
  const lazy::ProgramCounts counts = lazy::program_counts();
  return take(found->program->explain()) +
         fmt::format("this process keeps {} programs of {} KiB, whose sessions keep {} KiB\n", counts.kept,
                     counts.kept_bytes >> 10U, counts.session_bytes >> 10U);
}

// ---- operators ----

lazy::Handle LazyAccess::literal(const Operand& operand, std::optional<Elem> elem) {
  const Elem wanted = elem.value_or(operand.integer_ ? Elem::i64 : Elem::f32);
  const Number number{operand.number_, operand.integer_ ? std::optional(operand.whole_) : std::nullopt};
  const auto tensor = scalar_of(wanted, number);
  if (!tensor)
    refuse(frazil::Code::bad_input, "the number {} beside an array of {}", operand.number_, frazil::name_of(wanted));
  return lazy::of_datum(*tensor, NodeKind::literal);
}

Elem elem_of(const Ref& ref) {
  if (ref.node == nullptr) refuse(frazil::Code::bad_input, "an omitted lazy array has no element type");
  if (is_traced(ref)) return traced_type(ref).elem;
  const lazy::Output& output = ref.node->out()[ref.output];
  if (output.type == nullptr) check(lazy::run(ref));
  if (output.type == nullptr) refuse(frazil::Code::bad_input, "the array is not a tensor and has no element type");
  return output.type->elem;
}

lazy::Handle record(const lazy::Operation& operation, std::span<const Operand> operands) {
  constexpr std::size_t kUsual = 8;
  std::array<Ref, kUsual> few;
  std::vector<Ref> many(operands.size() > kUsual ? operands.size() : 0);
  const std::span<Ref> refs = many.empty() ? std::span(few).first(operands.size()) : std::span(many);
  std::vector<Handle> numbers;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const LazyArray* const array = LazyAccess::array_of(operands[i]);
    if (array != nullptr) {
      refs[i] = LazyAccess::ref(*array);
      continue;
    }
    std::optional<Elem> elem;
    const auto beside = std::ranges::find_if(operands, [](const Operand& o) {
      const LazyArray* const other = LazyAccess::array_of(o);
      return other != nullptr && *other;
    });
    if (beside != operands.end()) elem = elem_of(LazyAccess::ref(*LazyAccess::array_of(*beside)));
    refs[i] = numbers.emplace_back(LazyAccess::literal(operands[i], elem)).ref();
  }
  return take(lazy::record(operation, refs, operands.empty() ? lazy::Place{} : LazyAccess::place(operands[0])));
}

std::vector<LazyArray> results_of(const Handle& handle, std::size_t count) {
  std::vector<LazyArray> results;
  for (std::uint32_t k = 0; k < count; ++k) results.push_back(LazyAccess::array({handle.node(), k}));
  return results;
}

namespace {

void check_outputs(const OpDef& op, std::size_t outputs) {
  constexpr std::size_t kMaxOutputs = 1U << 20U;
  const bool open = !op.outputs.empty() && op.outputs.back().use == frazil::Port::Use::variadic;
  const std::size_t most = open ? kMaxOutputs : op.outputs.size();
  if (outputs == 0 || outputs > most) {
    refuse(frazil::Code::bad_model, "{}: expected 1 to {} outputs, got {}", op.name, most, outputs);
  }
}

}  // namespace

Operator::Operator(std::string_view name, const Attributes& attributes, std::size_t outputs) {
  start_lazy();
  const OpDef& op = find_op(name);
  if (std::holds_alternative<frazil::Region>(op.form)) {
    refuse(frazil::Code::bad_input, "{} has bodies: use frazil::cond() or frazil::loop()", name);
  }
  check_outputs(op, outputs);
  operation_ = take(lazy::operation(op, bind_attributes(op, attributes, std::string(name)), outputs));
}

LazyArray Operator::operator()(std::span<const Operand> inputs) const {
  return LazyAccess::array(record(*static_cast<const lazy::Operation*>(operation_), inputs).ref());
}

std::vector<LazyArray> Operator::all(std::span<const Operand> inputs) const {
  const auto& operation = *static_cast<const lazy::Operation*>(operation_);
  return results_of(record(operation, inputs), operation.outputs);
}

// ---- batches ----

namespace {

BatchReport report_of(const lazy::BatchCounts& counts) {
  return {.instances = counts.instances,
          .waits = counts.waits,
          .rounds = counts.rounds,
          .runs = counts.runs,
          .nodes = counts.nodes,
          .recalled = counts.recalled};
}

/// An adapter that forwards the values for which instances on other fibers wait to the owner of these fibers.
struct ExternalInstances : lazy::Instances {
  explicit ExternalInstances(detail::Instances& to_) : to(to_) {}
  Status await(std::span<const Ref> wanted) override {
    std::vector<LazyArray> arrays;
    for (const Ref& ref : wanted) arrays.push_back(LazyAccess::array(ref));
    const std::optional<Error> error = to.await(arrays);
    if (error) return std::unexpected(Fault{static_cast<frazil::Code>(error->code()), error->what()});
    return {};
  }
  detail::Instances& to;
};

std::vector<Ref> pending_of(std::span<const LazyArray> arrays) {
  std::vector<Ref> pending;
  for (const LazyArray& array : arrays) {
    const Ref ref = LazyAccess::ref(array);
    if (ref.node != nullptr && ref.node->pending()) pending.push_back(ref);
  }
  return pending;
}

}  // namespace

namespace detail {

bool tracing() { return lazy::Trace::current() != nullptr; }

bool is_traced(const LazyArray& array) { return api::is_traced(LazyAccess::ref(array)); }

bool is_there(const LazyArray& array) {
  const Ref ref = LazyAccess::ref(array);
  return ref.node != nullptr && !ref.node->pending() && !api::is_traced(ref);
}

LazyArray literal(Operand number, Dtype dtype) {
  start_lazy();
  return LazyAccess::array(LazyAccess::literal(number, static_cast<Elem>(dtype)).ref());
}

void forget_thread() { lazy::take_remembered(); }

std::uint64_t recalled() { return lazy::recalled(); }

void set_lock(bool (*locked)(),
              void (*unlocked)(const std::function<void()>& work, const std::function<void()>& cancel)) {
  lazy::set_interpreter_hooks({locked, unlocked});
}

Joined::Joined(Instances* instances) {
  const auto here = instances == nullptr ? nullptr : std::make_shared<ExternalInstances>(*instances);
  before_ = lazy::Instances::exchange(here.get());
  here_ = here;
}

Joined::~Joined() { lazy::Instances::exchange(static_cast<lazy::Instances*>(before_)); }

namespace {

/// Returns a function that calls `check` and returns the error that it throws as a status.
std::function<Status(std::size_t)> checked(const std::function<void(std::size_t)>& check) {
  if (!check) return nullptr;
  return [&check](std::size_t instance) -> Status {
    try {
      check(instance);
      return {};
    } catch (const Error& error) {
      return std::unexpected(Fault{static_cast<frazil::Code>(error.code()), error.what()});
    }
  };
}

}  // namespace

BatchReport run_batch(std::size_t count, const std::function<void(std::size_t)>& body, const BatchOptions& options) {
  start_lazy();
  constexpr std::size_t kMinStack = 16U << 10U;
  if (options.at_once == 0) refuse(frazil::Code::bad_input, "BatchOptions::at_once: expected at least 1");
  if (options.stack_bytes < kMinStack) {
    refuse(frazil::Code::bad_input, "BatchOptions::stack_bytes: expected at least {}, got {}", kMinStack,
           options.stack_bytes);
  }
  lazy::BatchCounts counts;
  std::size_t first = count;
  std::exception_ptr fault;
  const lazy::BatchOptions how{
      .at_once = options.at_once, .stack_bytes = options.stack_bytes, .check = checked(options.check)};
  lazy::Batch(how, counts).run(count, [&](std::size_t i) {
    try {
      body(i);
    } catch (...) {
      if (i < first) {
        first = i;
        fault = std::current_exception();
      }
    }
  });
  if (fault) std::rethrow_exception(fault);
  return report_of(counts);
}

std::vector<std::optional<Error>> settle_together(std::span<const std::vector<LazyArray>> wanted, BatchReport& report) {
  std::vector<std::vector<Ref>> refs;
  for (const std::vector<LazyArray>& arrays : wanted) refs.push_back(pending_of(arrays));
  std::vector<lazy::AwaitedValues> all;
  for (const std::vector<Ref>& each : refs) all.push_back({each});
  lazy::BatchCounts counts;
  lazy::run_together(all, counts);
  report.runs += counts.runs;
  report.nodes += counts.nodes;
  std::vector<std::optional<Error>> errors(wanted.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].status) errors[i] = error_of(all[i].status.error());
  }
  return errors;
}

void settle(std::span<const LazyArray* const> arrays) {
  std::vector<Ref> wanted;
  for (const LazyArray* const array : arrays) {
    const Ref ref = LazyAccess::ref(*array);
    if (ref.node != nullptr && ref.node->pending()) wanted.push_back(ref);
  }
  if (!wanted.empty()) check(lazy::run(wanted));
}

}  // namespace detail

void start_lazy() {
  static const bool started = [] {
    start();
    const Options options;
    lazy::set_run_options({.options = options_of(mode_of(options)),
                           .open = [](exec::Executable& executable) { return open_session(executable, Options{}); }});
    return true;
  }();
  (void)started;
}

}  // namespace frazil::api
