#include "lazy/record.h"

#include <algorithm>

#include "lazy/function.h"
#include "lazy/infer.h"
#include "lazy/run.h"
#include "lazy/trace.h"

namespace frazil::lazy {
namespace {

constexpr std::uint32_t kDeepest = 1U << 14U;

thread_local std::uint32_t next_sequence = 0;

/// Runs the inputs of a node that would stand on too many pending ones.
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

}  // namespace

Result<Handle> record(const Operation& operation, std::span<const Ref> inputs, const Place& place) {
  if (Trace* const trace = Trace::current()) return trace->record(operation, inputs, place);
  std::uint32_t depth = depth_above(inputs);
  if (depth > kDeepest) {
    FRAZIL_CHECK(run_inputs(inputs));
    depth = 0;
  }
  Handle handle(Ref{make_node(operation.outputs, inputs.size()), 0});
  Node& node = *handle.node();
  node.operation = &operation;
  if (operation.function != nullptr) operation.function->keep();
  node.place = place;
  node.depth = depth;
  node.sequence = next_sequence++;
  std::ranges::copy(inputs, node.in().begin());
  for (const Ref& input : inputs) keep(input.node);
  FRAZIL_CHECK(infer_types(node));
  return handle;
}

}  // namespace frazil::lazy
