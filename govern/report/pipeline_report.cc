#include "govern/report/pipeline_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "govern/base/error.h"
#include "govern/report/report.h"
#include "govern/report/route_influence.h"
#include "govern/report/route_order.h"

namespace frazil::govern {
namespace {

constexpr double kMostPaths = 1e300;

/// A bound, or none.
using Bound = std::optional<double>;

Bound bound_of(const Json& report, const char* member) {
  const Json& value = report.at(member);
  return value.is_null() ? std::nullopt : Bound(value.get<double>());
}
Bound sum(Bound a, Bound b) { return a && b ? Bound(*a + *b) : std::nullopt; }
Bound most(Bound a, Bound b) { return a && b ? Bound(std::max(*a, *b)) : std::nullopt; }
Bound times(Bound a, double count) { return a ? Bound(*a * count) : std::nullopt; }

/// The upper bounds of a part of a route.
struct Worst {
  Bound operations = 0, cost = 0, memory = 0, outputs = 0;
  double paths = 1;
};

/// Combines parts that run one after the other: memory is free between them.
Worst sequence(const Worst& a, const Worst& b) {
  return {sum(a.operations, b.operations), sum(a.cost, b.cost), most(a.memory, b.memory), sum(a.outputs, b.outputs),
          std::min(a.paths * b.paths, kMostPaths)};
}
Worst choice(const Worst& a, const Worst& b) {
  return {most(a.operations, b.operations), most(a.cost, b.cost), most(a.memory, b.memory), most(a.outputs, b.outputs),
          std::min(a.paths + b.paths, kMostPaths)};
}
/// Combines parts that run at the same time.
Worst parallel(const Worst& a, const Worst& b) {
  Worst both = sequence(a, b);
  both.memory = sum(a.memory, b.memory);
  return both;
}
/// Returns 1 + each + each^2 + ... + each^most: the number of paths of a loop with at most `most` iterations.
double paths_of_loop(double each, double most_times) {
  const double paths = each == 1 ? most_times + 1 : (std::pow(each, most_times + 1) - 1) / (each - 1);
  return std::min(paths, kMostPaths);
}

Worst repeated(const Worst& body, std::int64_t most_times) {
  const auto n = static_cast<double>(most_times);
  return {times(body.operations, n), times(body.cost, n), body.memory, times(body.outputs, n),
          paths_of_loop(body.paths, n)};
}

/// Splits "http://host:80/path" into "host:80" and "/path".
std::pair<std::string, std::string> split_url(std::string_view url) {
  if (const std::size_t scheme = url.find("//"); scheme != std::string_view::npos) url.remove_prefix(scheme + 2);
  const std::size_t slash = std::min(url.find('/'), url.size());
  return {std::string(url.substr(0, slash)), std::string(url.substr(slash))};
}

std::string url_of(const Json& endpoint) {
  return "//" + endpoint.at("host").get<std::string>() + endpoint.at("path").get<std::string>();
}

class RouteReader {
 public:
  explicit RouteReader(const std::vector<CalledReport>& called) : called_(called) {}

  Worst of(const std::vector<RouteNode>& nodes) {
    Worst all;
    for (const RouteNode& node : nodes) all = sequence(all, of(node));
    return all;
  }

  void write(Json& report) const {
    report["models"] = Json::array();
    for (const auto& [key, digest] : models_) {
      report["models"].push_back(
          {{"name", key.first}, {"version", Json::parse(key.second)}, {"digest", Json::parse(digest)}});
    }
    report["operators"] = Json::array();
    for (const auto& [key, count] : operators_) {
      const auto& [domain, name, opset] = key;
      report["operators"].push_back(
          {{"domain", domain}, {"name", name}, {"opset", Json::parse(opset)}, {"count", count}});
    }
    report["endpoints"] = report["code"] = Json::array();
    for (const auto& [kind, address, node] : endpoints_) {
      if (kind == "code") {
        report["code"].push_back({{"name", address}, {"digest", ""}, {"node", node}});
      } else {
        const auto [host, path] = split_url(address);
        report["endpoints"].push_back({{"kind", kind}, {"host", host}, {"path", path}, {"node", node}});
      }
    }
    report["max_steps"] = nullptr;
    report["selections"] = Json::array();
    report["pipelines"] = pipelines_;
    report["branches"] = branches_;
    report["unbounded"] = unbounded_;
  }

 private:
  Worst of(const RouteNode& node) {
    if (node.kind == "run") return of_call(node);
    if (!node.endpoint.empty()) endpoints_.emplace(node.kind, node.endpoint, node.name);
    if (node.branches.empty()) return {};
    if (node.kind == "loop") return repeated(of(node.branches.front().nodes), node.most);
    note_branches(node);
    std::optional<Worst> all;
    for (const RouteNode::Branch& branch : node.branches) {
      const Worst one = of(branch.nodes);
      all = all ? combined(node.kind, *all, one) : one;
    }
    return *all;
  }

  static Worst combined(const std::string& kind, const Worst& a, const Worst& b) {
    if (kind == "switch" || kind == "split") return choice(a, b);
    return kind == "fallback" ? sequence(a, b) : parallel(a, b);
  }

  void note_branches(const RouteNode& node) {
    Json rules = Json::array();
    for (const RouteNode::Branch& branch : node.branches) rules.push_back(branch.rule);
    branches_.push_back({{"node", node.name}, {"kind", node.kind}, {"rules", std::move(rules)}});
  }

  Worst of_call(const RouteNode& node) {
    const Json* const report = find_report(called_, node.model, node.version);
    if (report == nullptr) {
      fail(Code::bad_input, "node '{}': there is no report of model '{}', version {}", node.name, node.model,
           node.version);
    }
    add_model(node.model, node.version, *report, node.name);
    return {bound_of(*report, "worst_operations"), bound_of(*report, "worst_cost_ns"),
            bound_of(*report, "worst_memory_bytes"), bound_of(*report, "worst_output_bytes"),
            report->value("paths", 1.0)};
  }

  /// Adds what a called model or pipeline can reach, once. `place` is the node that runs it.
  void add_model(const std::string& name, const std::string& version, const Json& report, const std::string& place) {
    if (!models_.emplace(std::pair(name, Json(version).dump()), report.at("digest").dump()).second) return;
    if (report.contains("paths")) {
      if (report.contains("steps")) pipelines_[name + "/" + version] = report.at("steps");
      const auto at = [&](const Json& end) { return place + "." + end.at("node").get<std::string>(); };
      for (const Json& end : report.at("endpoints")) {
        endpoints_.emplace(end.at("kind"), url_of(end), at(end));
      }
      for (const Json& program : report.at("code")) endpoints_.emplace("code", program.at("name"), at(program));
    } else {
      add_graph(name, report);
    }
    for (const Json& model : report.at("models")) {
      const Json& called_version = model.at("version");
      const Json* const inner = called_version.is_string() ? find_report(called_, model.at("name").get<std::string>(),
                                                                         called_version.get<std::string>())
                                                           : nullptr;
      if (inner != nullptr) {
        add_model(model.at("name"), called_version, *inner, place);
      } else {
        models_.emplace(std::pair(model.at("name"), called_version.dump()), "null");
      }
    }
  }

  void add_graph(const std::string& name, const Json& report) {
    for (const Json& op : report.at("operators")) {
      operators_[{op.at("domain"), op.at("name"), op.at("opset").dump()}] += op.at("count").get<std::uint64_t>();
    }
    for (const Json& part : report.at("unbounded")) {
      unbounded_.push_back({{"of", part.at("of")},
                            {"where", fmt::format("model '{}': {}", name, part.at("where").get<std::string>())},
                            {"why", part.at("why")}});
    }
  }

  const std::vector<CalledReport>& called_;
  std::map<std::pair<std::string, std::string>, std::string> models_;  // name and version; digest: both as JSON
  std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> operators_;  // opset as JSON
  std::set<std::tuple<std::string, std::string, std::string>> endpoints_;
  Json branches_ = Json::array(), unbounded_ = Json::array(), pipelines_ = Json::object();
};

/// Appends the nodes with everything below them. `inside`: the branch that contains them, null for none.
void append_steps(Json& list, const std::vector<RouteNode>& nodes, const Json& inside) {
  for (const RouteNode& node : nodes) {
    Json step = {{"node", node.name}, {"kind", node.kind}};
    if (node.kind == "run") {
      step["model"] = node.model;
      step["version"] = node.version;
    }
    if (node.kind == "loop") step["most"] = node.most;
    if (!inside.is_null()) step["inside"] = inside;
    for (const RouteNode::Branch& branch : node.branches) step["taken"].push_back(branch.name);
    list.push_back(std::move(step));
    for (const RouteNode::Branch& branch : node.branches) {
      append_steps(list, branch.nodes, {{"node", node.name}, {"taken", branch.name}});
    }
  }
}

}  // namespace

const Json* find_report(const std::vector<CalledReport>& called, std::string_view model, std::string_view version) {
  const auto found = std::ranges::find_if(
      called, [&](const CalledReport& one) { return one.model == model && one.version == version; });
  return found == called.end() ? nullptr : &found->report;
}

std::string target_of(const RouteNode& node) {
  if (node.kind == "run") return "model:" + node.model + "/" + node.version;
  if (node.kind == "code") return "code:" + node.endpoint;
  if (node.endpoint.empty()) return "";
  const auto [host, path] = split_url(node.endpoint);
  return "endpoint:" + node.kind + "://" + host + path;
}

Json report_of(const Route& route, const std::vector<CalledReport>& called) {
  RouteReader reader(called);
  const Worst worst = reader.of(route.nodes);
  Json report = {{"name", route.name},
                 {"digest", route.digest},
                 {"worst_operations", number_of_bound(worst.operations)},
                 {"worst_cost_ns", number_of_bound(worst.cost)},
                 {"worst_memory_bytes", number_of_bound(worst.memory)},
                 {"worst_output_bytes", number_of_bound(worst.outputs)},
                 {"paths", worst.paths},
                 {"steps", Json::array()}};
  reader.write(report);
  append_steps(report["steps"], route.nodes, nullptr);
  RouteInfluence influence = influence_of(route, called);
  report["influence"] = std::move(influence.influence);
  report["reaches"] = std::move(influence.reaches);
  RouteOrder order = order_of(route, called);
  report["passes"] = std::move(order.passes);
  report["always"] = std::move(order.always);
  return report;
}

}  // namespace frazil::govern
