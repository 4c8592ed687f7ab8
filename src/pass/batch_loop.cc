// What no rule serves runs on one element after the other, in a Scan whose body holds the node.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "ops/control.h"
#include "pass/batch_site.h"

namespace frazil::pass {
namespace {

constexpr int kMostNesting = 64;

/// The blocks of a node, and those inside of them.
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

/// The varying values from outside that a node and its blocks use, each once.
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

/// Writes a node, with its blocks, into another graph.
class Copier {
 public:
  Copier(const Graph& from, Graph& to, const std::function<Value(Value)>& outer)
      : from_(from), to_(to), outer_(outer) {}

  void set(Value old, Value now) { map_[old.id] = now; }

  /// The new outputs.
  Result<std::vector<Value>> node(NodeId id, BlockId block) {
    const Node& node = from_.node(id);
    Builder builder(to_, block);
    std::vector<bool> wanted;
    for (Value v : node.out) wanted.push_back(static_cast<bool>(v));
    NodeId made;
    if (node.blocks.empty()) {
      FRAZIL_TRY(made, builder.append(*node.op, mapped(node.in), node.attrs, wanted, node.name));
    } else {
      FRAZIL_TRY(made, region(id, builder));
      FRAZIL_CHECK(builder.close(made, wanted));
    }
    for (std::size_t k = 0; k < node.out.size(); ++k) {
      if (node.out[k]) set(node.out[k], to_.node(made).out[k]);
    }
    return to_.node(made).out;
  }

 private:
  /// A region whose blocks are written, still open.
  Result<NodeId> region(NodeId id, Builder& builder) {
    const Node& node = from_.node(id);
    if (++nesting_ > kMostNesting) {
      return fail(Code::limit, "{}: regions nested deeper than {} levels cannot be batched", from_.describe(id),
                  kMostNesting);
    }
    std::vector<std::size_t> params;
    for (BlockId b : node.blocks) params.push_back(from_.block(b).params.size());
    FRAZIL_TRY(const NodeId made, builder.open(*node.op, mapped(node.in), node.attrs, params, node.name));
    for (std::size_t k = 0; k < node.blocks.size(); ++k) {
      const BlockId now = to_.node(made).blocks[k];
      const Block& old = from_.block(node.blocks[k]);
      for (std::size_t p = 0; p < old.params.size(); ++p) set(old.params[p], to_.block(now).params[p]);
      for (NodeId n : old.nodes) {
        FRAZIL_TRY(const auto written, this->node(n, now));
        static_cast<void>(written);
      }
      builder.yield(made, k, mapped(old.results));
    }
    --nesting_;
    return made;
  }

  std::vector<Value> mapped(const std::vector<Value>& old) {
    std::vector<Value> now;
    for (Value v : old) {
      const auto at = v ? map_.find(v.id) : map_.end();
      now.push_back(at != map_.end() ? at->second : v ? outer_(v) : v);
    }
    return now;
  }

  const Graph& from_;
  Graph& to_;
  const std::function<Value(Value)>& outer_;
  std::unordered_map<std::uint32_t, Value> map_;
  int nesting_ = 0;
};

Status check_results(const BatchSite& site) {
  for (Value v : site.node.out) {
    if (!v || (site.from.type(v).is_tensor() && site.from.type(v).ranked)) continue;
    return fail(Code::unsupported, "{}: it cannot be batched: its result {} has no axes to stack",
                site.from.describe(site.id), str(site.from.type(v), site.from.scope()));
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
  if (scanned.empty()) scanned.push_back(site.batch);  // it draws random numbers
  const std::size_t count = scanned.size();
  auto attrs = shared_attrs(ops::ScanAttrs{.num_scan_inputs = static_cast<std::int64_t>(count)});
  FRAZIL_TRY(const NodeId loop, site.to.open(ops::Scan, std::move(scanned), std::move(attrs), {count}, {}));
  const BlockId body = graph.node(loop).blocks[0];
  Copier copier(site.from, graph, site.now);
  for (std::size_t k = 0; k < used.size(); ++k) copier.set(used[k], graph.block(body).params[k]);
  FRAZIL_TRY(const std::vector<Value> outs, copier.node(site.id, body));
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
