// Times reports over all paths: a pipeline with 2^40 paths, and a model of 100,000 nodes. Exit code 1: the processor
// time of the fastest of five rounds is over its limit.
//
//   report_paths
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "govern/report/observed.h"
#include "govern/report/pipeline_report.h"
#include "govern/report/report.h"

namespace {

using namespace frazil::govern;
namespace api = frazil::api;

constexpr double kMostPipelineMs = 10, kMostModelMs = 1000, kMostCheckUs = 50;

/// Returns the processor time since a clock's value.
double milliseconds_since(std::clock_t begin) {
  return 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// Returns the processor time of the fastest of five rounds.
double best_ms(const auto& work) {
  double best = 1e300;
  for (int round = 0; round < 5; ++round) {
    const std::clock_t begin = std::clock();
    work();
    best = std::min(best, milliseconds_since(begin));
  }
  return best;
}

bool within(const char* what, double value, double most, const char* unit) {
  std::printf("%-46s %9.3f %s (at most %g)\n", what, value, unit, most);
  return value <= most;
}

RouteNode run_of(const std::string& name, const std::string& model, std::size_t from, std::size_t to) {
  RouteNode node{.name = name, .kind = "run", .model = model, .version = "1"};
  node.inputs = {{"x", from}};
  node.outputs = {{"y", to}};
  return node;
}

/// 40 switches, one after the other, each between two models.
Route many_paths() {
  Route route{"paths", "sha256:p", {}, {{"x", 0}}, {}};
  std::size_t value = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "s" + std::to_string(i);
    RouteNode node{.name = name, .kind = "switch"};
    for (const char* const model : {"a", "b"}) {
      const std::size_t result = value + (model[0] == 'a' ? 1 : 2);
      RouteNode::Branch branch{.rule = "", .nodes = {run_of(name + "." + model, model, value, result)}, .name = model};
      branch.when = {.values = {value}, .parameters = {"p" + std::to_string(i)}};
      branch.results = {result};
      node.branches.push_back(std::move(branch));
    }
    node.outputs = {{"", value + 3}};
    value += 3;
    route.nodes.push_back(std::move(node));
  }
  route.outputs = {{"y", value}};
  return route;
}

/// A path of it: the first branch of each switch.
std::vector<ObservedStep> path_of(const Route& route) {
  std::vector<ObservedStep> steps;
  for (const RouteNode& node : route.nodes) {
    const RouteNode& run = node.branches[0].nodes[0];
    steps.push_back({node.name, node.kind, "", "", node.branches[0].name});
    steps.push_back({run.name, run.kind, run.model, run.version, ""});
  }
  return steps;
}

/// 100,000 nodes: elementwise chains with comparisons and selections.
api::Model large_model(int nodes) {
  std::string text = "graph large(%x: f32[N,8], %t: f32[N,8]) {\n";
  std::string last = "%x";
  for (int i = 0; i + 4 <= nodes; i += 4) {
    const std::string n = std::to_string(i);
    text += "%a" + n + " = Add(" + last + ", f32[] 0.5) %c" + n + " = Greater(%a" + n + ", f32[] 1) %w" + n +
            " = Where(%c" + n + ", %a" + n + ", %t) %m" + n + " = Tanh(%w" + n + ")\n";
    last = "%m" + n;
  }
  return api::Model::from_text(text + "return y = " + last + " }");
}

}  // namespace

int main() {
  const api::Model small = api::Model::from_text("graph m(%x: f32[N,8]) { %y = Neg(%x) return y = %y }");
  const ReportOptions ranges{.extents = {{"N", {1, 64}}}};
  const std::vector<CalledReport> called = {{"a", "1", report_of(small, ranges)}, {"b", "1", report_of(small, ranges)}};
  const Route route = many_paths();
  Json report;
  bool good = within("report of a pipeline with 2^40 paths", best_ms([&] { report = report_of(route, called); }),
                     kMostPipelineMs, "ms");
  good &= report.at("paths").get<double>() == 0x1p40;
  const PathCheck check(report, "paths", "1");
  const std::vector<ObservedStep> path = path_of(route);
  bool inside = true;
  const double us = 1000 * best_ms([&] { inside &= check.outside(path).empty(); });
  good &= within("comparison of a path of 80 steps with it", us, kMostCheckUs, "us") && inside;
  double first = 1e300;  // of a model that was just loaded; later reports of it use the plan of the first one
  for (int round = 0; round < 3; ++round) {
    const api::Model large = large_model(100'000);
    const std::clock_t begin = std::clock();
    report = report_of(large, ranges);
    first = std::min(first, milliseconds_since(begin));
  }
  good &= within("first report of a model of 100,000 nodes", first, kMostModelMs, "ms");
  good &= report.at("selections").size() == 25'000;
  return good ? 0 : 1;
}
