#include <algorithm>
#include <array>

#include <frazil/lazy.h>

#include "api/access.h"
#include "api/bind.h"
#include "api/lazy_access.h"
#include "lazy/record/record.h"
#include "lazy/record/trace.h"
#include "lazy/record/traced_function.h"

namespace frazil::api {
namespace {

using lazy::Handle;
using lazy::Ref;
using lazy::Trace;

std::vector<Ref> refs_of(std::span<const LazyArray> arrays) {
  std::vector<Ref> refs;
  for (const LazyArray& array : arrays) refs.push_back(LazyAccess::ref(array));
  return refs;
}

/// Returns the operands as arrays. Numbers become arrays.
std::vector<LazyArray> arrays_of(std::span<const Operand> operands) {
  std::vector<LazyArray> arrays;
  for (const Operand& operand : operands) {
    const LazyArray* const array = LazyAccess::array_of(operand);
    arrays.push_back(array != nullptr ? *array : LazyAccess::array(LazyAccess::literal(operand, std::nullopt).ref()));
  }
  return arrays;
}

}  // namespace

struct Function::Impl {
  Impl(std::string name, Body code)
      : body(std::move(code)),
        traced(std::move(name), [this](std::span<const Handle> arguments) { return call(arguments); }) {}

  const lazy::Operation& operation_for(std::span<const Ref> arguments) {
    return api::take(traced.graph_for(arguments))->operation();
  }

  Body body;
  lazy::TracedFunction traced;

 private:
  Result<std::vector<Handle>> call(std::span<const Handle> arguments) {
    std::vector<LazyArray> arrays;
    for (const Handle& argument : arguments) arrays.push_back(LazyAccess::array(argument.ref()));
    std::vector<Handle> results;
    for (const LazyArray& result : body(arrays)) results.emplace_back(LazyAccess::ref(result));
    return results;
  }
};

Function::Function(std::string name, Body body) {
  start_lazy();
  if (!body) refuse(frazil::Code::bad_input, "function '{}' has no code", name);
  impl_ = std::make_shared<Impl>(std::move(name), std::move(body));
}

namespace {

/// The references of operands. Numbers become arrays, which `numbers_` holds.
class References {
 public:
  explicit References(std::span<const Operand> operands) : many_(operands.size() > kFew ? operands.size() : 0) {
    refs_ = many_.empty() ? std::span(few_).first(operands.size()) : std::span(many_);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const LazyArray* const array = LazyAccess::array_of(operands[i]);
      refs_[i] = array != nullptr ? LazyAccess::ref(*array)
                                  : numbers_.emplace_back(LazyAccess::literal(operands[i], std::nullopt)).ref();
    }
  }
  std::span<const Ref> all() const { return refs_; }

 private:
  static constexpr std::size_t kFew = 8;
  std::array<Ref, kFew> few_;
  std::vector<Ref> many_;
  std::span<Ref> refs_;
  std::vector<Handle> numbers_;
};

}  // namespace

std::vector<LazyArray> Function::call(std::span<const Operand> arguments) const {
  // The graph of a traced function contains the nodes of the functions that it calls.
  if (Trace::current() != nullptr) return impl_->body(arrays_of(arguments));
  const References refs(arguments);
  const lazy::Operation& operation = impl_->operation_for(refs.all());
  const lazy::Place place = arguments.empty() ? lazy::Place{} : LazyAccess::place(arguments[0]);
  return results_of(api::take(lazy::record(operation, refs.all(), place)), operation.outputs);
}

void Function::call(std::span<const Operand> arguments, std::span<LazyArray> results) const {
  const auto expect = [&](std::size_t made) {
    if (made == results.size()) return;
    refuse(frazil::Code::bad_input, "function '{}' returns {} arrays, not {}", impl_->traced.name(), made,
           results.size());
  };
  if (Trace::current() != nullptr) {
    std::vector<LazyArray> made = impl_->body(arrays_of(arguments));
    expect(made.size());
    return std::ranges::move(made, results.begin()), void();
  }
  const References refs(arguments);
  const lazy::Operation& operation = impl_->operation_for(refs.all());
  expect(operation.outputs);
  const lazy::Place place = arguments.empty() ? lazy::Place{} : LazyAccess::place(arguments[0]);
  const Handle handle = api::take(lazy::record(operation, refs.all(), place));
  for (std::uint32_t k = 0; k < results.size(); ++k) results[k] = LazyAccess::array({handle.node(), k});
}

Model Function::model(std::span<const LazyArray> arguments, const Naming& input, const Naming& output) const {
  return Access::model(api::take(impl_->traced.trace(refs_of(arguments), {input, output})));
}

// ---- control flow ----

namespace {

/// Fills a body of a region. `make` takes its parameters and returns its results.
void fill(Trace& trace, NodeId region, std::size_t index,
          const std::function<std::vector<LazyArray>(const std::vector<LazyArray>&)>& make) {
  const BlockId block = trace.to().graph().node(region).blocks[index];
  std::vector<LazyArray> params;
  for (const Value param : trace.to().graph().block(block).params) {
    params.push_back(LazyAccess::array(trace.handle_of(std::span(&param, 1)).ref()));
  }
  std::vector<Value> results;
  trace.open_block(block);
  try {
    for (const LazyArray& result : make(params)) results.push_back(api::take(trace.value_of(LazyAccess::ref(result))));
  } catch (...) {
    trace.close_block();
    trace.abandon();
    throw;
  }
  trace.close_block();
  trace.to().yield(region, index, std::move(results));
}

std::vector<LazyArray> close(Trace& trace, NodeId region, std::size_t outputs) {
  check(trace.to().close(region, std::vector<bool>(outputs, true)));
  return results_of(trace.handle_of(trace.to().graph().node(region).out), outputs);
}

}  // namespace

namespace detail {

std::optional<Arrays> region(std::string_view op, const Arrays& inputs, std::size_t params,
                             std::span<const Region> bodies, std::optional<std::size_t> results) {
  Trace* const trace = Trace::current();
  if (trace == nullptr) return std::nullopt;
  std::vector<Value> values;
  for (const LazyArray& input : inputs) values.push_back(api::take(trace->value_of(LazyAccess::ref(input))));
  const OpDef& def = find_op(op);
  const std::vector<std::size_t> counts(bodies.size(), params);
  const NodeId region = api::take(trace->to().open(def, std::move(values), default_attrs(def), counts, ""));
  for (std::size_t k = 0; k < bodies.size(); ++k) fill(*trace, region, k, bodies[k]);
  const Graph& graph = trace->to().graph();
  return close(*trace, region, results.value_or(graph.block(graph.node(region).blocks[0]).results.size()));
}

}  // namespace detail

}  // namespace frazil::api
