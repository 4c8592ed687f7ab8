#include "pass/layout/layout.h"

#include <unordered_map>

#include "ir/edit/rebuild.h"
#include "pass/engine/expand.h"
#include "pass/layout/layout_choice.h"

namespace frazil::pass {
namespace {

/// Rewrites a graph by a choice of layouts. The new value of an image with channels last has no name, since its
/// elements are in another order.
class LayoutRewriter : public Rewriter {
 public:
  explicit LayoutRewriter(const LayoutChoice& choice) : choice_(choice) {}

  void begin(const Graph& from, const std::function<Value(Value)>& now) override {
    from_ = &from;
    now_ = now;
  }
  bool keeps_elements(Value old) override {
    const auto maker = from_->producer(old);
    return !choice_.is_last(old) && !(maker && choice_.is_absorbed(*maker));
  }

  Result<std::optional<std::vector<Value>>> rewrite(const Graph& from, NodeId id, Builder& to,
                                                    std::span<const Value> inputs) override {
    if (choice_.is_absorbed(id)) return std::vector<Value>{inputs[0]};  // its result is not used
    user_ = from.node(id).name;
    const LayoutChoice::Unit* unit = choice_.unit_of(id);
    return unit ? make(*unit, to) : copy(from.node(id), to, inputs);
  }

  Status open(const Graph& from, NodeId id, Builder& outer, const std::function<Value(Value)>&,
              std::vector<Value>& inputs) override {
    const Node& node = from.node(id);
    const Block& body = from.block(node.blocks[0]);
    user_ = node.name;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool last = i < body.params.size() && choice_.is_last(body.params[i]);
      inputs[i] = arranged(outer.graph(), node.in[i], last);
    }
    return failed_;
  }

  Status end(const Graph& from, BlockId block, Builder& to, std::vector<Value>& results) override {
    const Block& old = from.block(block);
    user_ = old.owner ? std::string_view(from.node(old.owner).name) : std::string_view();
    for (std::size_t k = 0; k < results.size(); ++k) {
      const Value into = old.owner ? becomes(from, from.node(old.owner), k) : Value{};
      results[k] = arranged(to.graph(), old.results[k], into && choice_.is_last(into));
    }
    return failed_;
  }

 private:
  Result<std::optional<std::vector<Value>>> make(const LayoutChoice::Unit& unit, Builder& to) {
    const auto operand = [&](bool last) {
      return [this, &to, last](Value v) { return Expr{&to, arranged(to.graph(), v, last)}; };
    };
    const LayoutSite site{*from_, from_->node(unit.node), to, unit.change, operand(true), operand(false)};
    std::vector<Value> made = unit.rule->make(site);
    FRAZIL_CHECK(failed_);
    FRAZIL_CHECK(to.status());
    return made;
  }

  /// Copies a node, with its operands transposed to channels second. Returns nullopt if no operand needs that.
  Result<std::optional<std::vector<Value>>> copy(const Node& node, Builder& to, std::span<const Value> inputs) {
    std::vector<Value> in;
    for (Value v : node.in) in.push_back(arranged(to.graph(), v, false));
    FRAZIL_CHECK(failed_);
    if (std::ranges::equal(in, inputs)) return std::nullopt;
    std::vector<bool> wanted;
    for (Value v : node.out) wanted.push_back(static_cast<bool>(v));
    FRAZIL_TRY(const NodeId made, to.append(*node.op, std::move(in), node.attrs, wanted, node.name));
    return to.graph().node(made).out;
  }

  /// Returns the new value of an old one, transposed if necessary.
  Value arranged(Graph& graph, Value old, bool last) {
    if (!old) return old;
    const Value now = now_(old);
    return choice_.is_last(old) == last ? now : transposed(graph, old, now, last);
  }

  /// Transposes a value in the block that defines it, so that all uses share the result.
  Value transposed(Graph& graph, Value old, Value now, bool last) {
    const auto [at, is_new] = transposed_.try_emplace(now.id);
    if (!is_new) return at->second;
    Builder builder(graph, graph.block_of(now).value_or(Graph::kMain));
    const auto maker = from_->producer(old);
    const std::string_view name = maker ? std::string_view(from_->node(*maker).name) : user_;
    const Expr x{&builder, now};
    at->second = (last ? channels_last(x, name) : channels_second(x, name)).value;
    if (!builder.status()) failed_ = builder.status();
    if (!last && at->second) builder.name_value(at->second, from_->value_name(old));
    return at->second;
  }

  const LayoutChoice& choice_;
  const Graph* from_ = nullptr;
  std::function<Value(Value)> now_;
  std::string_view user_;                                ///< the name of the node whose operands are arranged
  std::unordered_map<std::uint32_t, Value> transposed_;  ///< by id of the new value
  Status failed_;
};

}  // namespace

Result<std::optional<Graph>> choose_layout(const Graph& graph, const PassOptions& options, std::string& note) {
  const LayoutChoice choice(graph, options);
  if (!choice.any()) return std::nullopt;
  LayoutRewriter rewriter(choice);
  FRAZIL_TRY(Graph made, rebuild(graph, rewriter));
  note = choice.str();
  FRAZIL_TRY(auto expanded, expand_composites(made, options, note));
  return expanded ? std::move(*expanded) : std::move(made);
}

}  // namespace frazil::pass
