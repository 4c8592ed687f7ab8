#include <algorithm>
#include <unordered_map>

#include "ir/edit/rebuild.h"
#include "ops/contraction/contraction.h"
#include "ops/control/control.h"
#include "ops/index/index.h"
#include "pass/engine/rules.h"
#include "pass/loops/loops.h"

// Computes products of each iteration's slice with a weight for all iterations in one product.
namespace frazil::pass {
namespace {

/// A product in a body: a slice of `source` times a weight from outside.
struct Projection {
  NodeId product;
  Value source, weight;                ///< defined outside the body
  std::optional<std::size_t> scanned;  ///< Scan: index of the scanned input
  std::optional<NodeId> gather;        ///< Loop: the node that takes the slice
};

/// The projections of each region.
class Projections {
 public:
  explicit Projections(const Graph& graph) : graph_(graph), uses_(graph) {
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      if (node.blocks.empty() || node.out.empty()) continue;
      if (node.op == &ops::Scan) of_scan(id, node.blocks[0]);
      if (node.op == &ops::Loop && runs_over_all(node)) of_loop(id, node.blocks[0]);
    }
  }
  bool empty() const { return by_region_.empty(); }
  std::size_t count() const { return products_.size(); }
  const std::vector<Projection>* of(NodeId region) const {
    const auto at = by_region_.find(region.id);
    return at == by_region_.end() ? nullptr : &at->second;
  }
  bool is_product(NodeId id) const { return products_.contains(id.id); }

 private:
  void of_scan(NodeId region, BlockId body) {
    const Node& node = graph_.node(region);
    const auto& attrs = node.attributes<ops::ScanAttrs>();
    const std::size_t states = node.in.size() - static_cast<std::size_t>(attrs.num_scan_inputs);
    for (std::size_t i = states; i < node.in.size(); ++i) {
      const bool first_axis = attrs.scan_input_axes.empty() || attrs.scan_input_axes[i - states] == 0;
      const auto user = uses_.only_user(graph_.block(body).params[i]);
      if (first_axis && user) add(region, body, {*user, node.in[i], {}, i, {}}, graph_.block(body).params[i]);
    }
  }

  void of_loop(NodeId region, BlockId body) {
    for (NodeId id : graph_.block(body).nodes) {
      const Node& gather = graph_.node(id);
      if (gather.op != &ops::Gather || gather.attributes<ops::GatherAttrs>().axis != 0) continue;
      if (gather.in[1] != graph_.block(body).params[0] || !is_outside(gather.in[0], body)) continue;
      if (!counts(graph_.node(region), gather.in[0])) continue;
      const auto user = uses_.only_user(gather.out[0]);
      if (user) add(region, body, {*user, gather.in[0], {}, {}, id}, gather.out[0]);
    }
  }

  /// Adds a product of `slice` that is computed in every iteration, costs no more for all iterations together, and
  /// cannot fail.
  void add(NodeId region, BlockId body, Projection p, Value slice) {
    const Node& product = graph_.node(p.product);
    if (product.op != &ops::MatMul || product.parent != body || !product.constraints.empty()) return;
    if (product.in[0] != slice || !is_outside(product.in[1], body)) return;
    p.weight = product.in[1];
    if (!is_matrix(p.weight) || !graph_.type(slice).ranked || graph_.type(slice).rank() == 0) return;
    by_region_[region.id].push_back(p);
    products_.emplace(p.product.id, true);
  }

  /// Returns true for a matrix whose product is not much larger than its operands.
  bool is_matrix(Value v) const {
    constexpr std::int64_t kGrowth = 8;
    const Type& type = graph_.type(v);
    if (!type.ranked || type.rank() != 2 || !type.shape[0].is_const() || !type.shape[1].is_const()) return false;
    return type.shape[1].value() / kGrowth <= type.shape[0].value();
  }
  bool is_outside(Value v, BlockId body) const { return v && graph_.block_of(v) != body; }

  /// Returns true if the loop's condition never ends it.
  bool runs_over_all(const Node& loop) const {
    const Block& body = graph_.block(loop.blocks[0]);
    const bool begins = loop.in.size() < 2 || !loop.in[1] || known(graph_, loop.in[1]) == 1;
    const bool goes_on = body.results[0] == body.params[1] || known(graph_, body.results[0]) == 1;
    return !loop.in.empty() && loop.in[0] && begins && goes_on;
  }
  /// Returns true if the loop iterates over the rows of `source`.
  bool counts(const Node& loop, Value source) const {
    const std::vector<Dim>* trips = graph_.known_value(loop.in[0]);
    const Type& type = graph_.type(source);
    return trips && trips->size() == 1 && type.ranked && type.rank() > 1 && (*trips)[0] == type.shape[0];
  }

  const Graph& graph_;
  Uses uses_;
  std::unordered_map<std::uint32_t, std::vector<Projection>> by_region_;
  std::unordered_map<std::uint32_t, bool> products_;
};

class Hoister : public Rewriter {
 public:
  explicit Hoister(const Projections& projections) : projections_(projections) {}

  Status open(const Graph& from, NodeId region, Builder& outer, const std::function<Value(Value)>& now,
              std::vector<Value>& inputs) override {
    const auto* list = projections_.of(region);
    if (!list) return {};
    for (const Projection& p : *list) {
      const Node& product = from.node(p.product);
      FRAZIL_TRY(const NodeId made,
                 outer.append(*product.op, {now(p.source), now(p.weight)}, product.attrs, {true}, product.name));
      const Value all = outer.graph().node(made).out[0];
      if (p.scanned) inputs[*p.scanned] = all;
      if (p.gather) gathered_[p.gather->id] = all;
    }
    return {};
  }

  Result<std::optional<std::vector<Value>>> rewrite(const Graph& from, NodeId id, Builder& to,
                                                    std::span<const Value> inputs) override {
    if (projections_.is_product(id)) return std::vector<Value>{inputs[0]};
    const auto at = gathered_.find(id.id);
    if (at == gathered_.end()) return std::nullopt;
    const Node& node = from.node(id);
    FRAZIL_TRY(const NodeId made, to.append(*node.op, {at->second, inputs[1]}, node.attrs, {true}, node.name));
    return to.graph().node(made).out;
  }

 private:
  const Projections& projections_;
  std::unordered_map<std::uint32_t, Value> gathered_;
};

}  // namespace

Result<std::optional<Graph>> hoist_projections(const Graph& graph, const PassOptions&, std::string& note) {
  if (graph.block_count() == 1) return std::nullopt;
  const Projections projections(graph);
  if (projections.empty()) return std::nullopt;
  Hoister hoister(projections);
  FRAZIL_TRY(Graph made, rebuild(graph, hoister));
  note = fmt::format("{} products hoisted", projections.count());
  return made;
}

}  // namespace frazil::pass
