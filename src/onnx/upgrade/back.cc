#include "onnx/export/fields.h"
#include "onnx/upgrade/rules.h"
#include "ops/contraction/contraction.h"
#include "ops/control/sequence.h"
#include "ops/image/sampling.h"
#include "ops/index/index.h"
#include "ops/nn/attention.h"
#include "ops/view/view.h"
#include "tensor/onnx_proto.h"

namespace frazil::onnx::rules {
namespace {

/// Returns the attribute 'type' of an Optional: the type of the missing value.
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

/// An operator whose axes are an attribute in older opsets.
struct AxesRow {
  const OpDef* op;
  std::int64_t below;
  bool all;  ///< without axes, both forms reduce all axes
};
const AxesRow kAxes[] = {
    {&ops::ReduceL1, 18, true},  {&ops::ReduceL2, 18, true},        {&ops::ReduceLogSum, 18, true},
    {&ops::ReduceMax, 18, true}, {&ops::ReduceLogSumExp, 18, true}, {&ops::ReduceMean, 18, true},
    {&ops::ReduceMin, 18, true}, {&ops::ReduceProd, 18, true},      {&ops::ReduceSumSquare, 18, true},
    {&ops::ReduceSum, 13, true}, {&ops::Squeeze, 13, true},         {&ops::Unsqueeze, 13, false},
};

/// Returns whether a reduction has a non-default noop_with_empty_axes, an attribute that older opsets lack.
bool may_reduce_none(const Node& node) {
  const AttrField* field = node.op->attrs.find("noop_with_empty_axes");
  return field != nullptr && !same(*field->get(node.attrs.get()), AttrValue(std::int64_t{0}));
}

Ints ints_of(const Tensor& tensor) {
  Ints list;
  for (std::int64_t i = 0; i < tensor.count(); ++i) list.push_back(tensor.integer_at(i));
  return list;
}

/// Returns true if the parts provably have equal extents, as older opsets require.
bool splits_evenly(const Graph& graph, const Node& node) {
  if (node.in.size() > 1 && node.in[1]) return false;
  const Type* first = nullptr;
  for (const Value v : node.out) {
    if (!v || !graph.type(v).ranked) return false;
    if (first == nullptr) first = &graph.type(v);
    if (!std::ranges::equal(first->shape, graph.type(v).shape)) return false;
  }
  return first != nullptr &&
         static_cast<std::int64_t>(node.out.size()) == node.attributes<ops::SplitAttrs>().num_outputs.value_or(0);
}

/// Returns whether the node is an OptionalHasElement or OptionalGetElement without input, or of a value that is not an
/// optional.
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

std::optional<OlderForm> older_form(const Graph& graph, const Node& node) {
  if (node.op == &ops::Split && splits_evenly(graph, node)) return OlderForm{18, 13, "num_outputs", std::nullopt};
  const auto* row = std::ranges::find(kAxes, node.op, &AxesRow::op);
  if (row == std::end(kAxes) || may_reduce_none(node)) return std::nullopt;
  const bool given = node.in.size() > 1 && node.in[1];
  if (!given) return row->all ? std::optional(OlderForm{row->below, 1, {}, 1}) : std::nullopt;
  const Constant* axes = graph.constant(node.in[1]);
  if (axes == nullptr || axes->tensor.count() == 0) return std::nullopt;
  const Ints list = ints_of(axes->tensor);
  const bool counts_back = std::ranges::any_of(list, [](std::int64_t axis) { return axis < 0; });
  return OlderForm{row->below, counts_back ? 11 : 1, "axes", 1};
}

std::vector<Value> written_inputs(const Graph& graph, const Node& node, std::int64_t opset) {
  std::vector<Value> in = node.in;
  const auto older = older_form(graph, node);
  if (older && opset < older->below && older->input) in.resize(std::min(in.size(), *older->input));
  return in;
}

Result<std::vector<std::string>> written_attributes(const Graph& graph, const Node& node, std::int64_t opset) {
  const bool given = !node.in.empty() && node.in[0];
  if (node.op == &ops::Optional && !given && node.out[0]) return optional_attributes(graph, node);
  const auto older = older_form(graph, node);
  if (!older || opset >= older->below || older->attribute.empty()) return attribute_protos(node);
  if (!older->input) return attribute_protos(node, older->attribute);
  FRAZIL_TRY(std::vector<std::string> attributes, attribute_protos(node));
  attributes.push_back(ints_attribute(older->attribute, ints_of(graph.constant(node.in[*older->input])->tensor)));
  return attributes;
}

std::string alias_node(std::string_view from, std::string_view to) {
  std::string out;
  Writer writer(out);
  add_text(writer, 1, from);
  add_text(writer, 2, to);
  add_text(writer, 4, "Identity");
  return out;
}

Result<std::string> constant_node(const Tensor& value, std::string_view name) {
  FRAZIL_TRY(const std::string tensor, tensor_to_proto(value));
  std::string out;
  Writer writer(out);
  add_text(writer, 2, name);
  add_text(writer, 4, "Constant");
  writer.add_message(5, tensor_attribute("value", tensor));
  return out;
}

}  // namespace frazil::onnx::rules
