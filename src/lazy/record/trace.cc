#include "lazy/record/trace.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "lazy/program/append.h"
#include "lazy/program/run.h"

namespace frazil::lazy {
namespace {

thread_local Trace* current_trace = nullptr;
std::atomic<std::uint64_t> traces = 0;

}  // namespace

Trace::Trace(std::string name) : number_(++traces), outer_(std::exchange(current_trace, this)) {
  graph_.name = std::move(name);
  blocks_.push_back(std::make_unique<Builder>(graph_));
}

Trace::~Trace() { current_trace = outer_; }

Trace* Trace::current() { return current_trace; }

Handle Trace::input(std::string_view name, Type type) {
  const Value value = blocks_.front()->input(name, std::move(type)).value;
  return handle_of(std::span(&value, 1));
}

Handle Trace::handle_of(std::span<const Value> values) {
  Handle handle(Ref{make_node(values.size(), 0), 0});
  Node& node = *handle.node();
  node.kind = NodeKind::traced;
  node.trace = number_;
  for (std::size_t k = 0; k < values.size(); ++k) node.out()[k].traced = values[k];
  return handle;
}

Result<Value> Trace::value_of(const Ref& ref) {
  if (abandoned_) {
    return fail(Code::bad_input, "function '{}' goes on after an exception in a side of cond() or the body of a loop",
                graph_.name);
  }
  if (ref.node == nullptr) return Value{};
  if (ref.node->kind == NodeKind::traced) {
    const Value value = ref.node->out()[ref.output].traced;
    if (!owns(*ref.node)) {
      return fail(Code::bad_input, "a value of another function's graph is used while '{}' is traced", graph_.name);
    }
    if (!is_open(value)) {
      return fail(Code::bad_input,
                  "function '{}' uses a value of a side of cond(), or of the body of a loop, outside of it",
                  graph_.name);
    }
    return value;
  }
  Output& output = ref.node->out()[ref.output];
  if (!output.block) FRAZIL_CHECK(run(ref));
  const auto known = output.row == Output::kWhole ? constants_.find(output.block.get()) : constants_.end();
  if (known != constants_.end()) return known->second;
  const Datum datum = datum_of(output);
  if (!datum.is_tensor())
    return fail(Code::unsupported, "a value that is not a tensor is used while '{}' is traced", graph_.name);
  const Value value = blocks_.front()->constant(datum.tensor()).value;
  if (output.row == Output::kWhole) constants_.emplace(output.block.get(), value);
  kept_.emplace_back(ref);
  return value;
}

bool Trace::is_open(Value value) const {
  const std::optional<BlockId> block = graph_.block_of(value);
  return !block || std::ranges::any_of(blocks_, [&](const auto& open) { return open->block() == *block; });
}

Result<Handle> Trace::record(const Operation& operation, std::span<const Ref> inputs, const Place& place) {
  std::vector<Value> values;
  for (const Ref& input : inputs) {
    FRAZIL_TRY(values.emplace_back(), value_of(input));
  }
  FRAZIL_TRY(const std::vector<Value> results, append(to(), operation, values, place));
  return handle_of(results);
}

}  // namespace frazil::lazy
