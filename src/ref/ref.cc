#include "ref/ref.h"

#include <new>
#include <optional>
#include <string>

#include "base/no_memory.h"
#include "ir/rebuild.h"
#include "ref/inputs.h"
#include "ref/machine.h"
#include "ref/node.h"

namespace frazil {

namespace {

/// The current thread's ExecutionLimits; makes default limits current when there are none.
class Here {
 public:
  Here() : execution_limits_(ExecutionLimits::current()) {
    if (execution_limits_ != nullptr) return;
    execution_limits_ = &own_.emplace(Limits{});
    scope_.emplace(execution_limits_);
  }
  ExecutionLimits& execution_limits() { return *execution_limits_; }

 private:
  ExecutionLimits* execution_limits_;
  std::optional<ExecutionLimits> own_;
  std::optional<LimitsScope> scope_;
};

/// An interrupted kernel may leave invalid data, so its errors are ignored.
template <class T>
Result<T> unless_stopped(Result<T> result, ExecutionLimits& execution_limits) {
  if (execution_limits.stopping()) return execution_limits.reason();
  return result;
}

/// The same graph with types that hold for either branch.
Result<std::optional<Graph>> without_assumptions(const Graph& graph) {
  if (graph.assumptions().empty()) return std::nullopt;
  FRAZIL_TRY(Graph open, rebuild(graph, Choices{.by_node = {}, .otherwise = std::nullopt}));
  return open;
}

}  // namespace

Result<std::vector<Datum>> run_reference(const Graph& graph, std::span<const Datum> inputs,
                                         ValueListener* listener) {
  try {
    Here here;
    FRAZIL_TRY(const auto open, without_assumptions(graph));
    const Graph& ready = open ? *open : graph;
    FRAZIL_TRY(const auto params, ref::bind_inputs(ready, inputs));
    if (listener != nullptr) listener->begin(ready);
    ref::Machine machine(ready, here.execution_limits(), listener);
    return unless_stopped(machine.run(params), here.execution_limits());
  } catch (const std::bad_alloc&) {
    return no_memory_left();
  }
}

Result<std::vector<Datum>> run_node(const Graph& graph, NodeId node, std::span<const std::optional<Datum>> inputs) {
  try {
    Here here;
    return unless_stopped(ref::run_one(graph, node, inputs, here.execution_limits()), here.execution_limits());
  } catch (const std::bad_alloc&) {
    return no_memory_left();
  }
}

}  // namespace frazil
