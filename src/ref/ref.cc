#include "ref/ref.h"

#include <new>
#include <string>

#include "ir/rebuild.h"
#include "ref/inputs.h"
#include "ref/machine.h"
#include "ref/node.h"

namespace frazil {

namespace {

Result<std::vector<Datum>> run_version(const Graph& graph, std::span<const Datum> inputs, const RefOptions& options) {
  FRAZIL_TRY(const auto params, ref::bind_inputs(graph, inputs));
  ref::Budget budget(options.max_steps);
  return ref::Machine(graph, budget).run(params);
}

}  // namespace

Result<std::vector<Datum>> run_reference(const Graph& graph, std::span<const Datum> inputs, const RefOptions& options) {
  constexpr int kMaxVersions = 64;
  try {
    auto result = run_version(graph, inputs, options);
    Choices choices = choices_of(graph);
    for (int k = 0; k < kMaxVersions && !result && result.error().code == Code::other_version; ++k) {
      bool& side = choices.by_node[static_cast<std::uint32_t>(std::stoul(result.error().message))];
      side = !side;
      FRAZIL_TRY(const Graph other, rebuild(graph, choices));
      choices = choices_of(other);
      result = run_version(other, inputs, options);
    }
    return result;
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
