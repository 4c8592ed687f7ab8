#include "govern/report/report.h"

#include <cmath>
#include <tuple>

#include <frazil/graph.h>

#include "govern/base/digest.h"
#include "govern/report/influence.h"

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

std::map<std::string, api::ExtentRange> extents_of(const api::Model& model, const ReportOptions& options) {
  std::map<std::string, api::ExtentRange> used;
  const auto use = [&](const std::string& name) {
    const auto range = options.extents.find(name);
    if (range != options.extents.end()) used.insert(*range);
  };
  for (const api::Port& port : model.inputs()) {
    for (const std::string& dim : port.dims) use(dim);
    if (port.extents.empty() && port.ranked) use(port.name);
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
  const api::WorstCase worst = worst_case(model, extents);
  const bool works = worst.unbounded_work.empty(), fits = worst.unbounded_memory.empty();
  Json report = {{"name", model.name()},
                 {"digest", model.digest()},
                 {"operators", operators_of(model)},
                 {"models", calls_of(model)},
                 {"extents", Json::object()},
                 {"worst_operations", number_of_bound(works ? std::optional(worst.operations) : std::nullopt)},
                 {"worst_cost_ns", number_of_bound(works ? std::optional(worst.nanoseconds) : std::nullopt)},
                 {"worst_memory_bytes", fits ? Json(worst.memory_bytes) : Json()},
                 {"worst_output_bytes", fits ? Json(worst.output_bytes) : Json()},
                 {"unbounded", Json::array()},
                 {"influence", influence_of(model)}};
  for (const auto& [name, range] : extents) report["extents"][name] = {range.least, range.most};
  add_unbounded(report["unbounded"], "work", worst.unbounded_work);
  add_unbounded(report["unbounded"], "memory", worst.unbounded_memory);
  return report;
}

std::string digest_of_report(const Json& report) { return digest_text(sha256(canonical(report))); }

}  // namespace frazil::govern
