#include "pass/batch/batch.h"

#include <algorithm>

#include "ir/edit/rebuild.h"
#include "ir/op/op.h"
#include "pass/batch/site.h"

namespace frazil::pass {
namespace {

/// Expands composites whose bodies the rules of batching serve.
class CompositeOpener : public Rewriter {
 public:
  CompositeOpener(const Graph& graph, const Varying& varying) : scratch_(graph), chosen_(graph.node_count()) {
    for (std::uint32_t n = 0; n < chosen_.size(); ++n) {
      const bool composite = std::holds_alternative<Composite>(graph.node(NodeId{n}).op->form);
      chosen_[n] = composite && varying.node(NodeId{n}) && is_served(NodeId{n});
      any_ |= chosen_[n];
    }
  }
  bool any() const { return any_; }

  Result<std::optional<std::vector<Value>>> rewrite(const Graph& from, NodeId id, Builder& to,
                                                    std::span<const Value> inputs) override {
    if (!chosen_[id.id]) return std::nullopt;
    const Node& node = from.node(id);
    auto values = expand(to, *node.op, inputs, node.attrs.get(), node.out.size());
    if (!values) return at_node(from.describe(id), std::move(values).error());
    return std::move(*values);
  }

 private:
  /// Returns true if no node of the body, nor of composites in it, needs a loop.
  bool is_served(NodeId id) {
    const Node node = scratch_.node(id);  // a copy: expand() grows the node table
    if (node.op->stateful) return false;
    Builder builder(scratch_, node.parent);
    const auto mark = builder.mark();
    bool served = expand(builder, *node.op, node.in, node.attrs.get(), node.out.size()).has_value();
    for (std::size_t n = mark.nodes; served && n < scratch_.node_count(); ++n) {
      const Node inner = scratch_.node(NodeId{static_cast<std::uint32_t>(n)});
      served = !inner.op->stateful && form_is_served(inner) && opened(builder, inner);
    }
    builder.rollback(mark);
    return served;
  }

  bool form_is_served(const Node& node) const {
    if (std::holds_alternative<Region>(node.op->form)) return false;
    if (!std::holds_alternative<Opaque>(node.op->form)) return true;
    return std::ranges::all_of(node.out, [&](Value v) { return !v || scratch_.known_value(v) != nullptr; });
  }

  static bool opened(Builder& builder, const Node& node) {
    if (!std::holds_alternative<Composite>(node.op->form)) return true;
    return expand(builder, *node.op, node.in, node.attrs.get(), node.out.size()).has_value();
  }

  Graph scratch_;
  std::vector<bool> chosen_;
  bool any_ = false;
};

/// Writes the batched graph.
class Batcher : public Rewriter {
 public:
  Batcher(const Graph& graph, std::span<const std::size_t> inputs, std::string axis, BatchCounts& counts)
      : varying_(graph, inputs), inputs_(inputs), axis_(std::move(axis)), counts_(counts) {}

  void begin(const Graph&, const std::function<Value(Value)>& now) override { now_ = now; }

  Type input_type(const Graph& from, std::size_t index, Builder& to) override {
    Type type = from.type(from.main().params[index]);
    if (std::ranges::find(inputs_, index) != inputs_.end()) type.shape.insert(type.shape.begin(), to.dim(axis_));
    return type;
  }

  Result<std::optional<Inlined>> inlines(const Graph& from, NodeId id, Builder& to,
                                         std::span<const Value> inputs) override {
    if (!varying_.node(id) || varying_.in_place(id)) return std::nullopt;
    FRAZIL_TRY(std::vector<Value> outputs, looped(site(from, id, to, inputs)));
    return Inlined{.splice = std::nullopt, .outputs = std::move(outputs)};
  }

  Result<std::optional<std::vector<Value>>> rewrite(const Graph& from, NodeId id, Builder& to,
                                                    std::span<const Value> inputs) override {
    if (!varying_.node(id)) {
      ++counts_.shared;
      return std::nullopt;
    }
    const BatchSite at = site(from, id, to, inputs);
    std::vector<Value> results(at.node.out.size());
    if (std::ranges::any_of(at.node.out, [&](Value v) { return varying_.value(v); })) {
      FRAZIL_TRY(results, varying_results(at));
    } else {
      ++counts_.shared;
    }
    for (std::size_t k = 0; k < results.size(); ++k) {
      const Value v = at.node.out[k];
      if (!v || varying_.value(v)) continue;
      FRAZIL_TRY(results[k], batch_extents(at, v));
    }
    return results;
  }

  Status end(const Graph& from, BlockId block, Builder& to, std::vector<Value>& results) override {
    const NodeId owner = from.block(block).owner;
    if (block != Graph::kMain && (!varying_.node(owner) || !varying_.in_place(owner))) return {};
    for (std::size_t k = 0; k < results.size(); ++k) {
      const bool wanted = block == Graph::kMain || varying_.result(owner, k);
      if (!wanted || varying_.value(from.block(block).results[k])) continue;
      auto all = repeated(to, results[k], batch_value(from));
      if (!all) return within(result_name(from, block, k), std::move(all).error());
      results[k] = *all;
    }
    return {};
  }

 private:
  static std::string result_name(const Graph& from, BlockId block, std::size_t k) {
    if (block != Graph::kMain) return fmt::format("{}: result {}: ", from.describe(from.block(block).owner), k);
    return fmt::format("output '{}': ", from.output_names()[k]);
  }

  Value batch_value(const Graph& from) const { return now_(from.main().params[inputs_.front()]); }

  BatchSite site(const Graph& from, NodeId id, Builder& to, std::span<const Value> inputs) {
    return {from, id, from.node(id), to, inputs, varying_, now_, batch_value(from)};
  }

  Result<std::vector<Value>> varying_results(const BatchSite& at) {
    auto made = batch_by_operator(at);
    if (!made) made = batch_by_form(at);
    if (!made) return looped(at);
    ++counts_.by_rule;
    return std::move(*made);
  }

  Result<std::vector<Value>> looped(const BatchSite& at) {
    ++counts_.by_loop;
    return batch_by_loop(at);
  }

  const Varying varying_;
  std::span<const std::size_t> inputs_;
  std::string axis_;
  BatchCounts& counts_;
  std::function<Value(Value)> now_;
};

Status check_inputs(const Graph& graph, std::span<const std::size_t> inputs) {
  if (inputs.empty()) return fail(Code::bad_input, "no input is batched");
  for (std::size_t i : inputs) {
    if (i >= graph.main().params.size()) {
      return fail(Code::bad_input, "there is no input {}: the graph has {}", i, graph.main().params.size());
    }
    const Type& type = graph.type(graph.main().params[i]);
    if (type.is_tensor() && type.ranked) continue;
    return fail(Code::unsupported, "input '{}' is {}: it cannot get an axis", graph.input_names()[i],
                str(type, graph.scope()));
  }
  return {};
}

/// Returns a name for the batch's extent that no symbol of the graph has.
std::string free_name(const Graph& graph, std::string_view axis) {
  std::string name(axis);
  while (graph.scope().find_symbol(name)) name += '_';
  return name;
}

}  // namespace

Result<Graph> batch(const Graph& graph, std::span<const std::size_t> inputs, BatchCounts* counts,
                    std::string_view axis) {
  FRAZIL_CHECK(check_inputs(graph, inputs));
  std::optional<Graph> opened;
  for (;;) {
    const Graph& now = opened ? *opened : graph;
    CompositeOpener opener(now, Varying(now, inputs));
    if (!opener.any()) break;
    FRAZIL_TRY(opened, rebuild(now, opener));
  }
  const Graph& from = opened ? *opened : graph;
  BatchCounts own;
  Batcher batcher(from, inputs, free_name(from, axis), own);
  FRAZIL_TRY(Graph batched, rebuild(from, batcher));
  if (counts != nullptr) *counts = own;
  return batched;
}

}  // namespace frazil::pass
