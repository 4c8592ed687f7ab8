#include "onnx/export_fields.h"
#include "onnx/upgrade_rules.h"
#include "ops/sequence.h"

namespace frazil::onnx::rules {
namespace {

/// The attribute 'type' of an Optional, which says what it would hold.
Result<std::vector<std::string>> optional_attributes(const Graph& graph, const Node& node) {
  std::string out;
  Writer writer(out);
  add_text(writer, 1, "type");
  writer.add_message(14, TypeWriter(graph.scope(), {}).write(*graph.type(node.out[0]).item));
  writer.add_enum(20, 13);
  return std::vector{std::move(out)};
}

}  // namespace

Result<std::vector<std::string>> written_attributes(const Graph& graph, const Node& node) {
  const bool given = !node.in.empty() && node.in[0];
  if (node.op == &ops::Optional && !given && node.out[0]) return optional_attributes(graph, node);
  return attribute_protos(node);
}

std::string alias_node(std::string_view from, std::string_view to) {
  std::string out;
  Writer writer(out);
  add_text(writer, 1, from);
  add_text(writer, 2, to);
  add_text(writer, 4, "Identity");
  return out;
}

}  // namespace frazil::onnx::rules
