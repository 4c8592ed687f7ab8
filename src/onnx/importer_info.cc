// What a model says of itself: notes, which are kept, and types, which are held against those that are inferred.
#include <algorithm>

#include "onnx/importer.h"

namespace frazil::onnx {
namespace {

/// Whether no value is of both types.
bool contradict(const Type& a, const Type& b) {
  if (a.kind != b.kind) return true;
  if (!a.is_tensor()) return a.item && b.item && contradict(*a.item, *b.item);
  if (a.elem != b.elem) return true;
  if (!a.ranked || !b.ranked) return false;
  return !std::ranges::equal(a.shape, b.shape, [](Dim x, Dim y) { return !x.is_const() || !y.is_const() || x == y; });
}

}  // namespace

Status Importer::keep_info() {
  ModelInfo& info = model_.info;
  for (const auto& [domain, version] : model_.opsets) info.opsets.emplace_back(domain, version);
  GraphParts& body = top().body;
  info.graph = std::move(body.notes);
  for (const Bytes bytes : body.quantization) {
    FRAZIL_TRY(info.quantization.emplace_back(), read_quantization(bytes));
  }
  return keep_value_notes(body);
}

Status Importer::keep_value_notes(const GraphParts& body) {
  const auto keep = [&](std::string_view name, Notes notes) {
    if (!notes.empty()) model_.info.values.try_emplace(std::string(name), std::move(notes));
  };
  for (const auto* list : {&body.inputs, &body.outputs, &body.value_infos}) {
    for (const Bytes bytes : *list) {
      FRAZIL_TRY(const ValueInfo value, read_value_info(bytes));
      FRAZIL_TRY(Notes notes, read_notes(bytes, 3, 4));
      keep(value.name, std::move(notes));
    }
  }
  for (const Bytes bytes : body.initializers) {
    FRAZIL_TRY(Notes notes, read_notes(bytes, 12, 16));
    if (notes.empty()) continue;
    FRAZIL_TRY(const TensorHeader header, tensor_header(bytes));
    keep(header.name, std::move(notes));
  }
  return {};
}

void Importer::keep_notes(NodeParts& node, NodeId id) {
  if (!node.notes.empty()) model_.info.nodes.try_emplace(graph_.node(id).stable, std::move(node.notes));
}

Status Importer::read_said(const std::vector<Bytes>& value_infos) {
  for (const Bytes bytes : value_infos) {
    FRAZIL_TRY(const ValueInfo info, read_value_info(bytes));
    if (info.type && !info.name.empty()) top().said.emplace(info.name, *info.type);
  }
  return {};
}

/// Types that the model gives are no more than a hint: what runs follows inference.
void Importer::compare_said() {
  if (assumed()) return;
  constexpr std::size_t kTold = 3;
  std::size_t count = 0;
  for (const Said& said : said_) {
    Graph scratch;
    Builder builder(scratch);
    const auto type = read_type(said.type, builder, "said", source_);
    if (!type || !contradict(*type, graph_.type(said.value))) continue;
    if (++count > kTold) continue;
    warn("value '{}': the model says {}, but it is {}", proto::shown(said.name), str(*type, scratch.scope()),
         str(graph_.type(said.value), graph_.scope()));
  }
  if (count > kTold) warn("and {} more values of other types than the model says", count - kTold);
}

}  // namespace frazil::onnx
