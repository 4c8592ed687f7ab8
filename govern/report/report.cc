#include "govern/report/report.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <frazil/graph.h>

#include "govern/base/digest.h"
#include "govern/report/influence.h"
#include "govern/report/selections.h"

namespace frazil::govern {
namespace {

Json operators_of(const api::Model& model) {
  std::map<std::tuple<std::string, std::string>, std::uint64_t> counts;
  const api::GraphView graph(model);
  for (const std::uint32_t id : graph.nodes()) {
    const auto node = graph.node(id);
    ++counts[{node.domain, node.op}];
  }
  const auto opsets = model.metadata().opsets;
  Json list = Json::array();
  for (const auto& [key, count] : counts) {
    const auto& [domain, name] = key;
    const auto opset = opsets.find(domain);
    list.push_back({{"domain", domain},
                    {"name", name},
                    {"opset", opset == opsets.end() ? Json() : Json(opset->second)},
                    {"count", count}});
  }
  return list;
}

Json calls_of(const api::Model& model) {
  std::map<std::pair<std::string, std::uint64_t>, bool> called;
  for (const api::ModelCall& call : model.calls()) called[{call.model, call.version}] = true;
  Json list = Json::array();
  for (const auto& [key, present] : called) {
    list.push_back({{"name", key.first}, {"version", key.second == 0 ? Json() : Json(key.second)}});
  }
  return list;
}

bool is_name(std::string_view dim) {
  constexpr std::string_view kOperators = " +-*/(),";
  return dim != "?" && dim.find_first_of(kOperators) == std::string_view::npos &&
         dim.find_first_not_of("0123456789") != std::string_view::npos;
}

/// Returns the range of each extent of the inputs, and of those inputs that are one integer and have a range.
std::map<std::string, std::optional<api::ExtentRange>> extents_of(const api::Model& model,
                                                                  const ReportOptions& options) {
  std::map<std::string, std::optional<api::ExtentRange>> used;
  const auto range_of = [&](const std::string& name) {
    const auto range = options.extents.find(name);
    return range == options.extents.end() ? std::nullopt : std::optional(range->second);
  };
  for (const api::Port& port : model.inputs()) {
    for (const std::string& dim : port.dims) {
      if (is_name(dim)) used[dim] = range_of(dim);
    }
    const bool is_scalar = port.extents.empty() && port.ranked && port.kind == api::Array::Kind::tensor;
    if (is_scalar && range_of(port.name)) used[port.name] = range_of(port.name);
  }
  return used;
}

void add_unbounded(Json& list, const char* of, const std::vector<api::Unbounded>& parts) {
  for (const api::Unbounded& part : parts) list.push_back({{"of", of}, {"where", part.where}, {"why", part.why}});
}

}  // namespace

Json number_of_bound(std::optional<double> bound) {
  constexpr double kExact = 0x1p53;
  if (!bound) return nullptr;
  return *bound < kExact ? Json(static_cast<std::uint64_t>(std::ceil(*bound))) : Json(*bound);
}

Json report_of(const api::Model& model, const ReportOptions& options) {
  const auto extents = extents_of(model, options);
  std::map<std::string, api::ExtentRange> ranges;
  for (const auto& [name, range] : extents) {
    if (range) ranges[name] = *range;
  }
  const api::WorstCase worst = worst_case(model, ranges);
  const InputFlow flow(model);
  const bool works = worst.unbounded_work.empty(), fits = worst.unbounded_memory.empty();
  Json report = {{"name", model.name()},
                 {"digest", model.digest()},
                 {"operators", operators_of(model)},
                 {"models", calls_of(model)},
                 {"endpoints", Json::array()},
                 {"code", Json::array()},
                 {"draws", std::ranges::any_of(flow.nodes(), &api::GraphView::Node::draws)},
                 {"max_steps", nullptr},
                 {"extents", Json::object()},
                 {"worst_operations", number_of_bound(works ? std::optional(worst.operations) : std::nullopt)},
                 {"worst_cost_ns", number_of_bound(works ? std::optional(worst.nanoseconds) : std::nullopt)},
                 {"worst_memory_bytes", fits ? Json(worst.memory_bytes) : Json()},
                 {"worst_output_bytes", fits ? Json(worst.output_bytes) : Json()},
                 {"unbounded", Json::array()},
                 {"influence", influence_of(flow)},
                 {"reaches", reaches_of(flow)},
                 {"selections", selections_of(flow)}};
  for (const auto& [name, range] : extents) {
    report["extents"][name] = range ? Json({range->least, range->most}) : Json();
  }
  add_unbounded(report["unbounded"], "work", worst.unbounded_work);
  add_unbounded(report["unbounded"], "memory", worst.unbounded_memory);
  return report;
}

std::string digest_of_report(const Json& report) { return digest_text(sha256(canonical(report))); }

}  // namespace frazil::govern
