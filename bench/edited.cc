#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "bench/overhead_sections.h"
#include "ir/edit/patch.h"
#include "ir/op/op.h"
#include "onnx/import/import.h"
#include "ops/elementwise/math.h"

namespace bench {
namespace {

using frazil::Graph;
using frazil::NodeId;

/// The graph with the middle one of its Erf nodes replaced by Tanh.
Graph edited(const Graph& graph) {
  std::vector<NodeId> found;
  for (NodeId n : graph.main().nodes) {
    if (graph.node(n).op->name == "Erf") found.push_back(n);
  }
  if (found.empty()) throw std::runtime_error("the model has no Erf");
  const frazil::Node& node = graph.node(found[found.size() / 2]);
  frazil::Patch patch(graph, "erf to tanh");
  patch.replace(node.out[0], frazil::ops::Tanh(patch.tap(node.in[0])));
  auto made = std::move(patch).commit();
  if (!made) throw std::runtime_error(made.error().text());
  return *std::move(made);
}

struct Planned {
  double ms = 0;
  std::shared_ptr<frazil::exec::Executable> executable;
};

Planned plan(Graph graph) {
  auto shared = std::make_shared<const Graph>(std::move(graph));
  const auto start = detail::Clock::now();
  auto made = frazil::exec::Executable::make(std::move(shared));
  if (!made) throw std::runtime_error(made.error().text());
  Planned p{.ms = detail::since_ms(start), .executable = *made};
  return p;
}

}  // namespace

nlohmann::json edited_graph(const std::string& path, int rounds) {
  auto imported = frazil::import_onnx(path);
  if (!imported) throw std::runtime_error(imported.error().text());
  std::vector<double> fresh, again, commit;
  Planned last;
  for (int round = 0; round < rounds; ++round) {
    const Planned first = plan(*imported);
    const auto start = detail::Clock::now();
    Graph graph = edited(*imported);
    commit.push_back(detail::since_ms(start));
    last = plan(std::move(graph));
    fresh.push_back(first.ms);
    again.push_back(last.ms);
    last.executable.reset();
  }
  const auto median = [](const std::vector<double>& times) { return detail::quantile(times, 0.5); };
  std::printf("edit     commit %.1f ms; plan %.1f ms before the edit, %.1f ms after it\n", median(commit),
              median(fresh), median(again));
  return {{"commit_ms", median(commit)}, {"first_plan_ms", median(fresh)}, {"plan_ms", median(again)}};
}

}  // namespace bench
