#include "onnx/export_fields.h"
#include "onnx/upgrade_rules.h"
#include "ops/attention.h"
#include "ops/contraction.h"
#include "ops/index.h"
#include "ops/sampling.h"
#include "ops/sequence.h"
#include "ops/view.h"

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

bool is_extreme(std::string_view reduction) { return reduction == "max" || reduction == "min"; }

struct Need {
  const OpDef* op;
  std::int64_t opset;
  bool (*applies)(const Node& node);
};
const Need kNeeds[] = {
    {&ops::Attention, 24, [](const Node& n) { return n.in.size() > 6 && n.in[6]; }},
    {&ops::Gemm, 11, [](const Node& n) { return n.in.size() < 3 || !n.in[2]; }},
    {&ops::Resize, 19,
     [](const Node& n) {
       return n.attributes<ops::ResizeAttrs>().coordinate_transformation_mode == "half_pixel_symmetric";
     }},
    {&ops::Pad, 18, [](const Node& n) { return n.in.size() > 3 && n.in[3]; }},
    {&ops::Pad, 19, [](const Node& n) { return n.attributes<ops::PadAttrs>().mode == "wrap"; }},
    {&ops::ScatterElements, 18,
     [](const Node& n) { return is_extreme(n.attributes<ops::ScatterElementsAttrs>().reduction); }},
    {&ops::ScatterND, 18, [](const Node& n) { return is_extreme(n.attributes<ops::ScatterNdAttrs>().reduction); }},
};

/// OptionalHasElement and OptionalGetElement of a value that is there for sure, or of none.
bool takes_what_is_no_optional(const Graph& graph, const Node& node) {
  if (node.op != &ops::OptionalHasElement && node.op != &ops::OptionalGetElement) return false;
  return node.in.empty() || !node.in[0] || graph.type(node.in[0]).kind != Type::Kind::optional;
}

}  // namespace

std::int64_t needed_by_values(const Graph& graph, const Node& node) {
  std::int64_t needed = needed_by_types(graph, node);
  if (takes_what_is_no_optional(graph, node)) needed = std::max<std::int64_t>(needed, 18);
  for (const Need& need : kNeeds) {
    if (need.op == node.op && need.applies(node)) needed = std::max(needed, need.opset);
  }
  return needed;
}

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
