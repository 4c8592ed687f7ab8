#include "onnx/export/opsets.h"

#include <algorithm>

#include "ir/op/op.h"
#include "onnx/upgrade/rules.h"
#include "onnx/upgrade/upgrade.h"

namespace frazil::onnx {
namespace {

constexpr std::int64_t kNegativeAxes = 11;  ///< older opsets have only non-negative axes

/// Returns the opset that an attribute requires if it differs from its default.
std::int64_t needed_by(const AttrField& field, const AttrValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  const bool counts_back = field.name == "axis" && number != nullptr && *number < 0;
  return std::max<std::int64_t>(field.since, counts_back ? kNegativeAxes : 0);
}

/// Returns the oldest opset of its domain that can express the node.
std::int64_t needed_by(const Graph& graph, const Node& node) {
  const OpsetRange since = node.op->since;
  const auto older = rules::older_form(graph, node);
  std::int64_t needed = older ? older->oldest : since.oldest;
  const Attrs defaults = default_attrs(*node.op);
  for (const AttrField& field : node.op->attrs.fields) {
    const auto value = field.get(node.attrs.get()), usual = field.get(defaults.get());
    if (!value || (usual && same(*value, *usual)) || (older && field.name == older->attribute)) continue;
    const std::int64_t opset = needed_by(field, *value);
    if (opset <= since.newest)
      needed = std::max(needed, opset);  // otherwise the attribute belongs to an operator of another domain
  }
  return std::max(needed, rules::needed_by_values(graph, node));
}

}  // namespace

Result<std::map<std::string_view, std::int64_t>> opsets_for(const Graph& graph, std::optional<std::int64_t> wanted) {
  if (const auto newest = *newest_opset(""); wanted && (*wanted < 1 || *wanted > newest)) {
    return fail(Code::bad_input, "opset {} is outside [1, {}]", *wanted, newest);
  }
  std::map<std::string_view, std::int64_t> opsets{{"", wanted.value_or(1)}};
  if (graph.info) {
    for (const auto& [domain, version] : graph.info->opsets) {
      const auto newest = newest_opset(domain);
      if (wanted && domain.empty()) continue;
      if (newest) opsets[domain] = std::min(version, *newest);
    }
  }
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const std::int64_t needed = needed_by(graph, node);
    std::int64_t& opset = opsets.try_emplace(node.op->domain, needed).first->second;
    if (opset >= needed) continue;
    if (wanted && node.op->domain.empty()) {
      return fail_at(graph.describe(id), Code::bad_input, "it cannot be expressed in opset {}; it needs {}", *wanted,
                     needed);
    }
    opset = needed;
  }
  return opsets;
}

std::int64_t ir_version_for(std::int64_t opset) {
  struct Release {
    std::int64_t opset, ir;
  };
  constexpr Release kReleases[] = {{18, 8}, {20, 9}, {22, 10}, {23, 11}, {24, 12}};
  const auto* release = std::ranges::find_if(kReleases, [&](const Release& r) { return opset <= r.opset; });
  return release == std::end(kReleases) ? 13 : release->ir;
}

}  // namespace frazil::onnx
