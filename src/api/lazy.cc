#include <algorithm>
#include <exception>

#include <frazil/lazy.h>

#include "api/access.h"
#include "api/bind.h"
#include "api/lazy_access.h"
#include "api/open.h"
#include "lazy/batch.h"
#include "lazy/cone.h"
#include "lazy/program.h"
#include "lazy/record.h"
#include "lazy/run.h"
#include "lazy/together.h"
#include "lazy/trace.h"

namespace frazil::api {
namespace {

using lazy::Handle;
using lazy::NodeKind;
using lazy::Ref;

constexpr std::int64_t kMostLiteral = 16;  // elements

template <class T>
Tensor scalar(double number) {
  return Tensor::scalar(static_cast<T>(number));
}

/// A scalar of an element type; none for types that numbers do not convert to.
std::optional<Tensor> scalar_of(Elem elem, double number) {
  switch (elem) {
    case Elem::f32: return scalar<float>(number);
    case Elem::f64: return scalar<double>(number);
    case Elem::i32: return scalar<std::int32_t>(number);
    case Elem::i64: return scalar<std::int64_t>(number);
    case Elem::i16: return scalar<std::int16_t>(number);
    case Elem::i8: return scalar<std::int8_t>(number);
    case Elem::u8: return scalar<std::uint8_t>(number);
    case Elem::u16: return scalar<std::uint16_t>(number);
    case Elem::u32: return scalar<std::uint32_t>(number);
    case Elem::u64: return scalar<std::uint64_t>(number);
    case Elem::f16: return scalar<Half>(number);
    case Elem::bf16: return scalar<BFloat16>(number);
    case Elem::boolean: return Tensor::scalar(number != 0);
    default: return std::nullopt;
  }
}

bool is_traced(const Ref& ref) { return ref.node != nullptr && ref.node->kind == NodeKind::traced; }

const lazy::Output& there(const LazyArray& array) {
  const Ref ref = LazyAccess::ref(array);
  if (ref.node == nullptr) refuse(frazil::Code::bad_input, "an omitted lazy array has no value");
  if (is_traced(ref)) {
    refuse(frazil::Code::bad_input,
           "a traced function reads a value, which a graph does not have; use frazil::cond() or frazil::loop()");
  }
  check(lazy::run(ref));
  return ref.node->out()[ref.output];
}

}  // namespace

// ---- arrays ----

LazyArray::LazyArray(const Array& value) {
  start_lazy();
  const Datum datum = Access::dense(value);
  const bool literal =
      datum.is_tensor() && datum.tensor().elem() == Elem::i64 && datum.tensor().count() <= kMostLiteral;
  *this = LazyAccess::array(lazy::of_datum(datum, literal ? NodeKind::literal : NodeKind::value).ref());
}

LazyArray::LazyArray(const LazyArray& other) : node_(other.node_), output_(other.output_) {
  lazy::keep(static_cast<lazy::Node*>(node_));
}

LazyArray::~LazyArray() { lazy::let_go(static_cast<lazy::Node*>(node_)); }

LazyArray parameter(const Array& value) {
  start_lazy();
  if (!value.is_tensor()) refuse(frazil::Code::bad_input, "a parameter must be a tensor");
  return LazyAccess::array(lazy::of_datum(Access::dense(value), NodeKind::parameter).ref());
}

Array LazyArray::value() const { return Access::array(lazy::datum_of(there(*this))); }

Dtype LazyArray::dtype() const { return static_cast<Dtype>(elem_of(LazyAccess::ref(*this))); }

Sizes LazyArray::shape() const {
  const Ref ref = LazyAccess::ref(*this);
  if (is_traced(ref)) {
    Sizes sizes;
    const Graph& graph = lazy::Trace::current()->to().graph();
    for (const Dim dim : graph.type(ref.node->out()[ref.output].traced).shape) {
      if (!dim.is_const()) {
        refuse(frazil::Code::bad_input,
               "a traced function asks for the extent '{}', which is not fixed; use -1 in reshape()",
               graph.scope().str(dim));
      }
      sizes.push_back(dim.value());
    }
    return sizes;
  }
  const lazy::KnownType* type = ref.node == nullptr ? nullptr : ref.node->out()[ref.output].type;
  if (type == nullptr) type = there(*this).type;
  if (type == nullptr) refuse(frazil::Code::bad_input, "the array is no tensor and has no extents");
  return type->sizes;
}

bool LazyArray::is_parameter() const {
  const Ref ref = LazyAccess::ref(*this);
  return ref.node != nullptr && ref.node->kind == NodeKind::parameter;
}

LazyArray row(const LazyArray& parameter, std::int64_t index) {
  if (!parameter.is_parameter()) refuse(frazil::Code::bad_input, "row() of an array that is no parameter");
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
  return take(take(lazy::find_program(cone))->program->explain());
}

// ---- operators ----

lazy::Handle LazyAccess::literal(const Operand& operand, std::optional<Elem> elem) {
  const Elem wanted = elem.value_or(operand.integer_ ? Elem::i64 : Elem::f32);
  const auto tensor = scalar_of(wanted, operand.number_);
  if (!tensor)
    refuse(frazil::Code::bad_input, "the number {} beside an array of {}", operand.number_, frazil::name_of(wanted));
  return lazy::of_datum(*tensor, NodeKind::literal);
}

Elem elem_of(const Ref& ref) {
  if (is_traced(ref)) return lazy::Trace::current()->to().graph().type(ref.node->out()[ref.output].traced).elem;
  const lazy::Output& output = ref.node->out()[ref.output];
  if (output.type == nullptr) check(lazy::run(ref));
  if (output.type == nullptr) refuse(frazil::Code::bad_input, "the array is no tensor and has no element type");
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
    const auto beside =
        std::ranges::find_if(operands, [](const Operand& o) { return LazyAccess::array_of(o) != nullptr; });
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

Operator::Operator(std::string_view name, const Attributes& attributes, std::size_t outputs) {
  start_lazy();
  const OpDef& op = find_op(name);
  if (std::holds_alternative<frazil::Region>(op.form)) {
    refuse(frazil::Code::bad_input, "{} has bodies: use frazil::cond() or frazil::loop()", name);
  }
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

BatchReport run_batch(std::size_t count, const std::function<void(std::size_t)>& body, const BatchOptions& options) {
  start_lazy();
  if (options.at_once == 0) refuse(frazil::Code::bad_input, "BatchOptions::at_once: expected at least 1");
  lazy::BatchCounts counts;
  std::size_t first = count;
  std::exception_ptr fault;
  lazy::Batch({.at_once = options.at_once, .stack_bytes = options.stack_bytes}, counts).run(count, [&](std::size_t i) {
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
  std::vector<lazy::Wanted> all;
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
    lazy::set_run_options({.options = options_of(way_of(options)),
                           .open = [](exec::Executable& executable) { return open_session(executable, Options{}); }});
    return true;
  }();
  (void)started;
}

}  // namespace frazil::api
