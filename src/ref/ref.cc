#include "ref/ref.h"

#include <new>
#include <optional>
#include <string>

#include "base/limits/no_memory.h"
#include "ir/edit/rebuild.h"
#include "ref/inputs.h"
#include "ref/machine.h"
#include "ref/node.h"

namespace frazil {

namespace {

/// The current thread's ExecutionLimits. Makes default limits current if there are none.
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

/// Returns the reason of a stop instead of the result. An interrupted kernel may leave invalid data, so its errors are
/// ignored.
template <class T>
Result<T> unless_stopped(Result<T> result, ExecutionLimits& execution_limits) {
  if (execution_limits.stopping()) return execution_limits.reason();
  return result;
}

/// The outcome of one run of a graph: its results, or the assumption that did not hold.
struct Attempt {
  Result<std::vector<Datum>> results;
  std::optional<ref::Machine::Missed> missed;
};

Attempt attempt(const Graph& graph, std::span<const Datum> inputs, ExecutionLimits& limits, ValueListener* listener) {
  const auto params = ref::bind_inputs(graph, inputs);
  if (!params) return {std::unexpected(params.error()), std::nullopt};
  if (listener != nullptr) listener->begin(graph);
  ref::Machine machine(graph, limits, listener);
  auto results = unless_stopped(machine.run(*params), limits);
  return {std::move(results), machine.missed()};
}

/// Searches for assumptions that hold for these inputs; needed if no types of the graph hold for all runs. Returns
/// `why` if it finds none. The listener sees only the last run.
Result<std::vector<Datum>> run_by_choices(const Graph& graph, std::span<const Datum> inputs, ExecutionLimits& limits,
                                          ValueListener* listener, const Fault& why) {
  constexpr int kMaxAttempts = 64;
  const std::uint64_t streams = limits.streams();
  Graph chosen = graph;
  for (int i = 0; i < kMaxAttempts; ++i) {
    limits.rewind_streams(streams);
    Attempt made = attempt(chosen, inputs, limits, nullptr);
    if (!made.missed || limits.stopping()) {
      if (listener == nullptr || limits.stopping()) return std::move(made.results);
      limits.rewind_streams(streams);
      return attempt(chosen, inputs, limits, listener).results;
    }
    Choices choices = choices_of(chosen);
    choices.by_key[made.missed->key] = made.missed->value;
    auto rebuilt = rebuild(graph, choices);
    if (!rebuilt) {  // the inputs made this choice, so they are at fault
      if (rebuilt.error().code == Code::bad_model) rebuilt.error().code = Code::bad_input;
      return std::unexpected(std::move(rebuilt).error());
    }
    chosen = std::move(*rebuilt);
  }
  return std::unexpected(why);
}

}  // namespace

Result<std::vector<Datum>> run_reference(const Graph& graph, std::span<const Datum> inputs, ValueListener* listener) {
  try {
    Here here;
    ExecutionLimits& limits = here.execution_limits();
    if (graph.assumptions().empty()) return attempt(graph, inputs, limits, listener).results;
    const auto open = rebuild(graph, Choices{.by_key = {}, .none = true});
    if (open) return attempt(*open, inputs, limits, listener).results;
    return run_by_choices(graph, inputs, limits, listener, open.error());
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
