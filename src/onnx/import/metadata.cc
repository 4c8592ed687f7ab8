#include "onnx/import/metadata.h"

#include <charconv>

#include "onnx/import/warn.h"

namespace frazil::onnx {
namespace {

std::optional<std::int64_t> whole(std::string_view text, std::int64_t open) {
  std::int64_t value = open;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!text.empty() && (end.ec != std::errc() || end.ptr != text.data() + text.size())) return std::nullopt;
  return value;
}

/// Parses bounds: "1..64", "..64" or "1..".
std::optional<Bounds> read_bounds(std::string_view text) {
  const auto dots = text.find("..");
  if (dots == text.npos) return std::nullopt;
  const auto min = whole(text.substr(0, dots), Dim::kMin), max = whole(text.substr(dots + 2), Dim::kMax);
  if (!min || !max || *min > *max || *min < Dim::kMin || *max > Dim::kMax) return std::nullopt;
  return Bounds{*min, *max};
}

Status keep_value_notes(ModelInfo& info, const GraphParts& body) {
  const auto keep = [&](std::string_view name, Notes&& notes) {
    if (!notes.empty()) info.values.try_emplace(std::string(name), std::move(notes));
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

Status keep_declared(ModelInfo::Declared& declared, const std::vector<Bytes>& ports) {
  for (const Bytes bytes : ports) {
    FRAZIL_TRY(const ValueInfo port, read_value_info(bytes));
    if (!port.type) continue;
    FRAZIL_TRY(auto extents, declared_extents(*port.type));
    if (extents) declared.try_emplace(std::string(port.name), *std::move(extents));
  }
  return {};
}

}  // namespace

Status keep_graph_info(ModelParts& model, GraphParts& body) {
  ModelInfo& info = model.info;
  for (const auto& [domain, version] : model.opsets) info.opsets.emplace_back(domain, version);
  info.graph = std::move(body.notes);
  for (const Bytes bytes : body.quantization) {
    FRAZIL_TRY(info.quantization.emplace_back(), read_quantization(bytes));
  }
  FRAZIL_CHECK(keep_declared(info.declared_inputs, body.inputs));
  FRAZIL_CHECK(keep_declared(info.declared_outputs, body.outputs));
  return keep_value_notes(info, body);
}

void keep_notes(ModelInfo& info, const Graph& graph, NodeId id, Notes& notes) {
  if (!notes.empty()) info.nodes.try_emplace(graph.node(id).stable, std::move(notes));
}

void take_bounds(ModelParts& model, Source& source, std::vector<std::string>& warnings) {
  Properties& properties = model.info.model.metadata;
  std::erase_if(properties, [&](const auto& property) {
    const auto& [key, value] = property;
    if (!key.starts_with(kBoundsKey)) return false;
    const auto bounds = read_bounds(value);
    if (bounds) {
      source.bounds.insert_or_assign(key.substr(kBoundsKey.size()), *bounds);
    } else {
      warn(warnings, "metadata '{}': '{}' are not bounds like 1..64", proto::shown(key), proto::shown(value));
    }
    return bounds.has_value();
  });
}

}  // namespace frazil::onnx
