#include "lazy/program/append.h"

#include "ir/edit/copy_nodes.h"
#include "lazy/program/function.h"

namespace frazil::lazy {
namespace {

std::string text_of(const Place& place) {
  if (place.file == nullptr) return {};
  std::string_view file = place.file;
  file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
  return fmt::format("{}:{}", file, place.line);
}

Result<std::vector<Value>> append_function(Builder& to, const Function& function, std::span<const Value> inputs) {
  const Graph& graph = function.graph();
  NodeCopier copier(graph, to.graph());
  for (std::size_t i = 0; i < inputs.size(); ++i) copier.bind(graph.main().params[i], inputs[i]);
  for (const NodeId node : graph.main().nodes) FRAZIL_CHECK(copier.copy(node, to));
  return copier.now(graph.main().results);
}

}  // namespace

std::string describe(const Operation& operation, const Place& place) {
  std::string text = operation.op != nullptr ? std::string(operation.op->name)
                                             : fmt::format("function '{}'", operation.function->name());
  if (place.file != nullptr) text += " at " + text_of(place);
  return text;
}

Fault located(Fault fault, const Operation& operation, const Place& place) {
  if (operation.op == nullptr || place.file == nullptr) {
    return at_node(describe(operation, place), std::move(fault)).error();
  }
  fault.node = fmt::format("node '{}' ({})", text_of(place), operation.op->name);
  return fault;
}

Result<std::vector<Value>> append(Builder& to, const Operation& operation, std::span<const Value> inputs,
                                  const Place& place) {
  if (operation.function != nullptr) return append_function(to, *operation.function, inputs);
  FRAZIL_TRY(const NodeId node, to.append(*operation.op, {inputs.begin(), inputs.end()}, operation.attrs,
                                          std::vector<bool>(operation.outputs, true), text_of(place)));
  return to.graph().node(node).out;
}

}  // namespace frazil::lazy
