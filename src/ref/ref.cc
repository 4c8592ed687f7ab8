#include "ref/ref.h"

#include <new>

#include "ref/inputs.h"
#include "ref/machine.h"
#include "ref/node.h"

namespace frazil {

Result<std::vector<Datum>> run_reference(const Graph& graph, std::span<const Datum> inputs, const RefOptions& options) {
  try {
    FRAZIL_TRY(const auto params, ref::bind_inputs(graph, inputs));
    ref::Budget budget(options.max_steps);
    return ref::Machine(graph, budget).run(params);
  } catch (const std::bad_alloc&) {
    return fail(Code::out_of_memory, "no memory is left");
  }
}

Result<std::vector<Datum>> run_node(const Graph& graph, NodeId node, std::span<const std::optional<Datum>> inputs) {
  try {
    ref::Budget budget(RefOptions{}.max_steps);
    return ref::run_one(graph, node, inputs, budget);
  } catch (const std::bad_alloc&) {
    return fail(Code::out_of_memory, "{}: no memory is left", graph.describe(node));
  }
}

}  // namespace frazil
