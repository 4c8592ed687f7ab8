// Batches a node that no rule serves: a Scan whose body holds the node runs it on one element after the other.
#include <algorithm>
#include <set>

#include "ir/edit/copy_nodes.h"
#include "ops/control/control.h"
#include "pass/batch/site.h"

namespace frazil::pass {
namespace {

/// Returns the blocks of a node and the blocks inside them.
std::set<BlockId> blocks_inside(const Graph& graph, NodeId id) {
  std::set<BlockId> all;
  std::vector<NodeId> work{id};
  while (!work.empty()) {
    const NodeId n = work.back();
    work.pop_back();
    for (BlockId b : graph.node(n).blocks) {
      all.insert(b);
      work.insert(work.end(), graph.block(b).nodes.begin(), graph.block(b).nodes.end());
    }
  }
  return all;
}

/// Returns the varying values from outside that a node and its blocks use, each once.
std::vector<Value> varying_uses(const BatchSite& site) {
  const auto inside = blocks_inside(site.from, site.id);
  std::vector<Value> used;
  const auto look = [&](const std::vector<Value>& values) {
    for (Value v : values) {
      if (!site.varying.value(v) || std::ranges::find(used, v) != used.end()) continue;
      const auto block = site.from.block_of(v);
      if (!block || !inside.contains(*block)) used.push_back(v);
    }
  };
  look(site.node.in);
  for (BlockId b : inside) {
    for (NodeId n : site.from.block(b).nodes) look(site.from.node(n).in);
    look(site.from.block(b).results);
  }
  return used;
}

Status check_results(const BatchSite& site) {
  for (Value v : site.node.out) {
    if (!v || (site.from.type(v).is_tensor() && site.from.type(v).ranked)) continue;
    return fail_at(site.from.describe(site.id), Code::unsupported,
                   "it cannot be batched: its result {} has no axes to stack",
                   str(site.from.type(v), site.from.scope()));
  }
  return {};
}

}  // namespace

Result<std::vector<Value>> batch_by_loop(const BatchSite& site) {
  FRAZIL_CHECK(check_results(site));
  Graph& graph = site.to.graph();
  const std::vector<Value> used = varying_uses(site);
  std::vector<Value> scanned;
  for (Value v : used) scanned.push_back(site.now(v));
  if (scanned.empty()) scanned.push_back(site.batch);  // the node only draws random numbers
  const std::size_t count = scanned.size();
  auto attrs = shared_attrs(ops::ScanAttrs{.num_scan_inputs = static_cast<std::int64_t>(count)});
  FRAZIL_TRY(const NodeId loop, site.to.open(ops::Scan, std::move(scanned), std::move(attrs), {count}, {}));
  const BlockId body = graph.node(loop).blocks[0];
  NodeCopier copier(site.from, graph, site.now);
  for (std::size_t k = 0; k < used.size(); ++k) copier.bind(used[k], graph.block(body).params[k]);
  Builder inner(graph, body);
  FRAZIL_CHECK(copier.copy(site.id, inner));
  const std::vector<Value> outs = copier.now(site.node.out);
  std::vector<Value> given;
  std::ranges::copy_if(outs, std::back_inserter(given), [](Value v) { return static_cast<bool>(v); });
  site.to.yield(loop, 0, given);
  FRAZIL_CHECK(site.to.close(loop, std::vector<bool>(given.size(), true)));
  std::vector<Value> results(outs.size());
  for (std::size_t k = 0, next = 0; k < outs.size(); ++k) {
    if (outs[k]) results[k] = graph.node(loop).out[next++];
  }
  return results;
}

}  // namespace frazil::pass
