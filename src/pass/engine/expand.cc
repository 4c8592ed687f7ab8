#include "pass/engine/expand.h"

#include "ir/edit/rebuild.h"
#include "ir/op/op.h"

namespace frazil::pass {
namespace {

class Expander : public Rewriter {
 public:
  explicit Expander(const std::function<bool(const Graph&, NodeId)>& keep) : keep_(keep) {}

  bool wants(const Graph& graph, NodeId id) const {
    return std::holds_alternative<Composite>(graph.node(id).op->form) && !keep_(graph, id);
  }

  Result<std::optional<std::vector<Value>>> rewrite(const Graph& from, NodeId id, Builder& to,
                                                    std::span<const Value> inputs) override {
    if (!wants(from, id)) return std::nullopt;
    const Node& node = from.node(id);
    auto values = expand(to, *node.op, inputs, node.attrs.get(), node.out.size());
    if (!values) return at_node(from.describe(id), std::move(values).error());
    return std::move(*values);
  }

 private:
  const std::function<bool(const Graph&, NodeId)>& keep_;
};

bool any_composite(const Graph& graph, const Expander& expander) {
  return std::ranges::any_of(graph.nodes(), [&](NodeId n) { return expander.wants(graph, n); });
}

}  // namespace

namespace {

Result<std::optional<Graph>> expand_without(const Graph& graph, const std::function<bool(const Graph&, NodeId)>& keep) {
  std::optional<Graph> now;
  Expander expander(keep);
  while (any_composite(now ? *now : graph, expander)) {
    FRAZIL_TRY(now, rebuild(now ? *now : graph, expander));
  }
  return now;
}

}  // namespace

Result<std::optional<Graph>> expand_composites(const Graph& graph, const PassOptions& options, std::string&) {
  return expand_without(graph, [&](const Graph& g, NodeId n) {
    return options.keep(g, n) || (options.keep_for_layout && options.keep_for_layout(g, n));
  });
}

Result<std::optional<Graph>> expand_rest(const Graph& graph, const PassOptions& options, std::string&) {
  return expand_without(graph, options.keep);
}

}  // namespace frazil::pass
