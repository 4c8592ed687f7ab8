// Metadata of a model. Notes are kept; declared types are compared with the inferred ones.
#include <algorithm>
#include <charconv>

#include "onnx/import/importer.h"

namespace frazil::onnx {
namespace {

/// Returns whether no value can have both types.
bool contradict(const Type& a, const Type& b) {
  if (a.kind != b.kind) return true;
  if (!a.is_tensor()) return a.item && b.item && contradict(*a.item, *b.item);
  if (a.elem != b.elem) return true;
  if (!a.ranked || !b.ranked) return false;
  return !std::ranges::equal(a.shape, b.shape, [](Dim x, Dim y) { return !x.is_const() || !y.is_const() || x == y; });
}

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
  const auto keep = [&](std::string_view name, Notes&& notes) {
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

Importer::Contradictions Importer::contradictions() const {
  constexpr std::size_t kTold = 3;
  Contradictions found;
  for (const Said& said : said_) {
    Graph scratch;
    Builder builder(scratch);
    const auto type = read_type(said.type, builder, "said", source_);
    if (!type || !contradict(*type, graph_.type(said.value))) continue;
    if (++found.count > kTold) continue;
    found.first.push_back(fmt::format("value '{}': declared as {}, inferred as {}", proto::shown(said.name),
                                      str(*type, scratch.scope()), str(graph_.type(said.value), graph_.scope())));
  }
  return found;
}

/// Warns of declared types that contradict the inferred ones. Declared types are hints: execution follows inference.
void Importer::compare_said() {
  if (assumed()) return;
  const auto [first, count] = contradictions();
  for (const std::string& text : first) warn("{}", text);
  if (count > first.size()) {
    warn("and {} more values whose declared types differ from the inferred ones", count - first.size());
  }
}

/// Adds the first contradiction in the declared types to a fault, because it may explain the failure.
Fault Importer::explained(Fault fault) const {
  if (fault.code != Code::bad_model || assumed()) return fault;
  const Contradictions found = contradictions();
  if (found.count > 0) fault.message += "; " + found.first[0];
  return fault;
}

void Importer::keep_calls() {
  ModelInfo& info = model_.info;
  for (FunctionParts& f : model_.functions) {
    info.functions.push_back({std::string(f.name), std::string(f.domain), std::string(f.overload), std::move(f.notes)});
  }
  const auto names = [&](const std::vector<Value>& values, const Texts& formal) {
    ModelInfo::Call::Names found;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i]) found.emplace_back(graph_.value_name(values[i]), formal[i]);
    }
    return found;
  };
  for (Call& c : calls_) {
    if (c.function == nullptr || c.first_node == c.last_node) continue;
    info.calls.push_back({.name = std::move(c.name),
                          .function = static_cast<std::size_t>(c.function - model_.functions.data()),
                          .first = graph_.node(NodeId{static_cast<std::uint32_t>(c.first_node)}).stable,
                          .last = graph_.node(NodeId{static_cast<std::uint32_t>(c.last_node - 1)}).stable + 1,
                          .inputs = names(c.inputs, c.function->inputs),
                          .outputs = names(c.outputs, c.function->outputs),
                          .notes = std::move(c.notes)});
  }
}

void Importer::keep_bounds() {
  Properties& properties = model_.info.model.metadata;
  std::erase_if(properties, [&](const auto& property) {
    const auto& [key, value] = property;
    if (!key.starts_with(kBoundsKey)) return false;
    const auto bounds = read_bounds(value);
    if (bounds) {
      source_.bounds.insert_or_assign(key.substr(kBoundsKey.size()), *bounds);
    } else {
      warn("metadata '{}': '{}' are not bounds like 1..64", proto::shown(key), proto::shown(value));
    }
    return bounds.has_value();
  });
}

}  // namespace frazil::onnx
