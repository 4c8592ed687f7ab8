#include "lazy/record/record.h"

#include <algorithm>
#include <array>
#include <bit>

#include "lazy/program/append.h"
#include "lazy/program/function.h"
#include "lazy/program/run.h"
#include "lazy/record/infer.h"
#include "lazy/record/trace.h"

namespace frazil::lazy {
namespace {

constexpr std::uint32_t kMaxDepth = 1U << 14U;

thread_local std::uint32_t next_sequence = 0;

/// Returns a number greater than those of the inputs, which another thread may have recorded. Wraps around.
std::uint32_t sequence_above(std::span<const Ref> inputs) {
  for (const Ref& input : inputs) {
    if (input.node == nullptr || !input.node->pending()) continue;
    const auto ahead = static_cast<std::int32_t>(input.node->sequence - next_sequence);
    if (ahead >= 0) next_sequence = input.node->sequence + 1;
  }
  return next_sequence++;
}

/// Runs the inputs of a node that would end too long a chain of pending nodes.
Status run_inputs(std::span<const Ref> inputs) {
  std::vector<Ref> pending;
  std::ranges::copy_if(inputs, std::back_inserter(pending),
                       [](const Ref& input) { return input.node != nullptr && input.node->pending(); });
  return run(pending);
}

std::uint32_t depth_above(std::span<const Ref> inputs) {
  std::uint32_t depth = 0;
  for (const Ref& input : inputs) {
    if (input.node != nullptr && input.node->pending()) depth = std::max(depth, input.node->depth + 1);
  }
  return depth;
}

Result<Handle> record_node(const Operation& operation, std::span<const Ref> inputs, const Place& place) {
  std::uint32_t depth = depth_above(inputs);
  if (depth > kMaxDepth) [[unlikely]] {
    FRAZIL_CHECK(run_inputs(inputs));
    depth = 0;
  }
  Handle handle(Ref{make_node(operation.outputs, inputs.size()), 0});
  Node& node = *handle.node();
  node.operation = &operation;
  if (operation.function != nullptr) operation.function->retain();
  node.place = place;
  node.depth = depth;
  node.sequence = sequence_above(inputs);
  std::ranges::copy(inputs, node.in().begin());
  for (const Ref& input : inputs) retain(input.node);
  FRAZIL_CHECK(infer_types(node));
  return handle;
}

/// Records a call whose arguments are all rows of parameters. Returns known results, or a node whose results will be
/// kept.
Result<Handle> recall(const Operation& operation, std::span<const Ref> inputs, const Place& place) {
  Handle known(Ref{make_node(operation.outputs, 0), 0});
  if (operation.function->memo().recall(inputs, known.node()->out())) {
    known.node()->kind = NodeKind::value;
    count_recalled();
    return known;
  }
  FRAZIL_TRY(Handle handle, record_node(operation, inputs, place));
  handle.node()->memoised = true;
  remember_later(handle);
  return handle;
}

/// Returns the set of arguments that are rows of a parameter (bit i: argument i).
std::uint32_t rows_among(std::span<const Ref> inputs) {
  constexpr std::size_t kMaximum = 32;
  if (inputs.size() > kMaximum) return 0;
  std::uint32_t rows = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].node != nullptr && inputs[i].node->kind == NodeKind::table_row) rows |= 1U << i;
  }
  return rows;
}

/// Recalls the early half and records the late half.
Result<Handle> record_halves(const Function::SplitFunction& halves, std::uint32_t rows, std::span<const Ref> inputs,
                             const Place& place) {
  std::vector<Ref> early, late;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if ((rows >> i & 1U) != 0) early.push_back(inputs[i]);
  }
  FRAZIL_TRY(const Handle first, recall(halves.early->operation(), early, place));
  for (const std::uint32_t argument : halves.late_arguments) late.push_back(inputs[argument]);
  for (std::uint32_t k = 0; k < first.node()->outputs; ++k) late.push_back({first.node(), k});
  return record_node(halves.late->operation(), late, place);
}

Result<Handle> record_call(const Operation& operation, std::span<const Ref> inputs, const Place& place) {
  const std::uint32_t rows = rows_among(inputs);
  const Function& function = *operation.function;
  if (rows == 0 || !function.pure()) return record_node(operation, inputs, place);
  if (static_cast<std::size_t>(std::popcount(rows)) == inputs.size()) return recall(operation, inputs, place);
  if (const Function::SplitFunction* const halves = function.halves(rows)) {
    return record_halves(*halves, rows, inputs, place);
  }
  return record_node(operation, inputs, place);
}

}  // namespace

Result<Handle> record(const Operation& operation, std::span<const Ref> inputs, const Place& place) {
  if (Trace* const trace = Trace::current()) return trace->record(operation, inputs, place);
  const auto is_traced = [](const Ref& input) { return input.node != nullptr && input.node->kind == NodeKind::traced; };
  if (std::ranges::any_of(inputs, is_traced)) [[unlikely]] {
    return fail_at(describe(operation, place), Code::bad_input,
                   "a value of a traced function is used outside of it; return it instead");
  }
  return operation.function != nullptr ? record_call(operation, inputs, place) : record_node(operation, inputs, place);
}

}  // namespace frazil::lazy
