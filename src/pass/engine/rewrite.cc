#include "pass/engine/rewrite.h"

#include <map>
#include <unordered_map>

#include "ir/edit/rebuild.h"
#include "pass/engine/expand.h"
#include "pass/engine/rules.h"
#include "pass/rules/attention.h"

namespace frazil::pass {
namespace {

/// The rules by operator, in the order in which they are tried.
class RuleIndex {
 public:
  explicit RuleIndex(std::span<const Rule* const> rules) {
    for (const Rule* rule : rules) {
      for (const OpDef* op : rule->ops) by_op_[op].push_back(rule);
      if (rule->ops.empty()) elementwise_.push_back(rule);
    }
  }

  /// A rule that matches, and its replacement.
  struct Match {
    const Rule* rule;
    Replacement write;
  };
  std::optional<Match> match(const Site& site) const {
    if (!is_plain(site)) return std::nullopt;
    const bool checked = !site.node.constraints.empty();
    if (const auto at = by_op_.find(site.node.op); at != by_op_.end()) {
      for (const Rule* rule : at->second) {
        if (checked > rule->checks) continue;
        if (auto write = rule->match(site)) return Match{rule, std::move(write)};
      }
    }
    if (checked || !std::holds_alternative<Elementwise>(site.node.op->form)) return std::nullopt;
    for (const Rule* rule : elementwise_) {
      if (auto write = rule->match(site)) return Match{rule, std::move(write)};
    }
    return std::nullopt;
  }

 private:
  /// Returns true for a node with one result and operands of known ranks.
  static bool is_plain(const Site& site) {
    if (site.node.out.size() != 1) return false;
    for (Value v : site.in) {
      if (v && !(site.graph.type(v).is_tensor() && site.graph.type(v).ranked)) return false;
    }
    return true;
  }

  std::unordered_map<const OpDef*, std::vector<const Rule*>> by_op_;
  std::vector<const Rule*> elementwise_;
};

class RuleRewriter : public Rewriter {
 public:
  RuleRewriter(const RuleIndex& rules, const Uses& uses) : rules_(rules), uses_(uses) {}

  Result<std::optional<std::vector<Value>>> rewrite(const Graph& from, NodeId id, Builder& to,
                                                    std::span<const Value> inputs) override {
    const Site site{from, from.node(id), to.graph(), inputs, uses_, to.block()};
    const auto match = rules_.match(site);
    if (!match) return std::nullopt;
    Builder builder(to.graph(), to.block());
    const Builder::Mark before = builder.mark();
    const Expr made = match->write(builder);
    if (!builder.status() || !made) {
      builder.rollback(before);
      return std::nullopt;
    }
    if (!agree(to.graph().type(made.value), from.type(site.node.out[0]))) {
      return fail_at(from.describe(id), Code::internal, "rule '{}' gives another type", match->rule->name);
    }
    ++applied_[match->rule->name];
    return std::vector<Value>{made.value};
  }

  std::string str() const {
    std::string text;
    for (const auto& [name, count] : applied_) text += fmt::format("{}{} x{}", text.empty() ? "" : ", ", name, count);
    return text;
  }

 private:
  static bool agree(const Type& a, const Type& b) {
    return a.kind == b.kind && a.elem == b.elem && (!a.ranked || !b.ranked || a.rank() == b.rank());
  }

  const RuleIndex& rules_;
  const Uses& uses_;
  std::map<std::string_view, int> applied_;
};

bool any_fits(const Graph& graph, const RuleIndex& rules, const Uses& uses) {
  return std::ranges::any_of(graph.nodes(), [&](NodeId id) {
    const Node& node = graph.node(id);
    return node.blocks.empty() && rules.match({graph, node, graph, node.in, uses, node.parent});
  });
}

}  // namespace

namespace {

Result<std::optional<Graph>> apply(const RuleIndex& rules, const Graph& graph, std::string& note) {
  constexpr int kMaxWalks = 4;  // the result of a walk may match further rules
  std::optional<Graph> now;
  for (int walk = 0; walk < kMaxWalks; ++walk) {
    const Graph& from = now ? *now : graph;
    const Uses uses(from);
    if (!any_fits(from, rules, uses)) break;
    RuleRewriter rewriter(rules, uses);
    FRAZIL_TRY(Graph made, rebuild(from, rewriter));
    note += (walk == 0 ? "" : "; ") + rewriter.str();
    now = std::move(made);
  }
  return now;
}

}  // namespace

Result<std::optional<Graph>> rewrite_algebra(const Graph& graph, const PassOptions&, std::string& note) {
  static const RuleIndex rules(algebra_rules());
  return apply(rules, graph, note);
}

Result<std::optional<Graph>> absorb_batch_norm(const Graph& graph, const PassOptions&, std::string& note) {
  static const RuleIndex rules(conv_rules());
  return apply(rules, graph, note);
}

Result<std::optional<Graph>> recover_composites(const Graph& graph, const PassOptions&, std::string& note) {
  static const RuleIndex rules(recovery_rules());
  return apply(rules, graph, note);
}

Result<std::optional<Graph>> recover_attention(const Graph& graph, const PassOptions& options, std::string& note) {
  static const RuleIndex rules(late_recovery_rules());
  FRAZIL_TRY(auto made, apply(rules, graph, note));
  if (made) {
    FRAZIL_TRY(auto expanded,
               expand_composites(*made, options, note));  // expand composites that turned out to have no kernel
    if (expanded) made = std::move(expanded);
  }
  if (const std::string rejected = attention_rejections(made ? *made : graph); !rejected.empty()) {
    note += (note.empty() ? "" : "; ") + rejected;
  }
  return made;
}

}  // namespace frazil::pass
