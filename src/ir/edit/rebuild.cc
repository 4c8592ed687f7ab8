#include "ir/edit/rebuild.h"

#include <algorithm>

#include "base/limits/load_scope.h"
#include "ir/edit/type_matcher.h"
#include "ir/infer/infer.h"
#include "ir/infer/inference.h"

namespace frazil {
namespace {

std::vector<bool> wanted_outputs(const Node& node) {
  std::vector<bool> w(node.out.size());
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<bool>(node.out[i]);
  return w;
}

/// Returns true if types, possibly of other nodes, hold only because of an assumption at this node.
bool assumes(const Graph& graph, NodeId id) {
  return std::ranges::find(graph.assumptions(), id, &Assumption::node) != graph.assumptions().end();
}

AssumptionKey first_key(const Graph& graph, NodeId id) {
  const std::vector<Assumption> here = assumptions_at(graph, id);
  return here.empty() ? AssumptionKey{graph.node(id).stable, 0} : here.front().key;
}

/// Sets the key of the next assumption during its lifetime.
class NextKey {
 public:
  NextKey(GraphWriter to, AssumptionKey key) : to_(to) { to_->next_key = key; }
  ~NextKey() { to_->next_key.reset(); }
  NextKey(const NextKey&) = delete;
  NextKey& operator=(const NextKey&) = delete;

 private:
  GraphWriter to_;
};

class Copier : public Rewriter {};

}  // namespace

/// The state of rewriting one block.
struct RebuildFrame {
  BlockId from;
  BlockId to;                     ///< in the new graph
  NodeId region_from, region_to;  ///< invalid for the main block
  std::size_t block_index = 0;
  std::size_t next = 0;
  bool spliced = false, again = false;  ///< its nodes replace region_from; it is entered again
};

/// Rewrites a graph. Keeps stable ids and metadata. With Rows::kept, a node that does not change keeps its row and its
/// handle. With Rows::copied, all nodes are copied to an empty graph: for types that follow other assumptions, or for
/// nodes at other positions.
class Rebuilder {
 public:
  enum class Rows : std::uint8_t { kept, copied };

  Rebuilder(const Graph& from, Rewriter& rewriter, Rows rows)
      : from_(from),
        rewriter_(rewriter),
        keeps_(rows == Rows::kept),
        write_(to_),
        matcher_(from, to_),
        map_(from.value_count()) {
    if (keeps_) {
      to_ = from;
      return;
    }
    to_.name = from.name;
    to_.info = from.info;
    write_->scope = from.scope();
    write_->next_stable = from.next_stable();
    write_->choices = from.choices();
    for (const auto& [key, value] : choices_of(from).by_key) write_->choices.by_key[key] = value;
  }
  void choose(const Choices& choices) {
    write_->choices = choices;
    infers_all_ = true;
  }

  Result<Graph> run() {
    const std::size_t constants = write_->constants.size();
    rewriter_.begin(from_, [this](Value v) { return is_written(v) ? mapped(v) : Value{}; });
    for (std::size_t i = 0; i < from_.main().params.size(); ++i) input(i);
    push({.from = Graph::kMain, .to = Graph::kMain, .region_from = {}, .region_to = {}});
    while (!stack_.empty()) {
      RebuildFrame& f = stack_.back();
      const auto& nodes = from_.block(f.from).nodes;
      if (f.next < nodes.size()) {
        FRAZIL_CHECK(copy(f, nodes[f.next++]));
      } else {
        FRAZIL_CHECK(end_block());
      }
    }
    if (keeps_ && write_->constants.size() > constants) write_.remove_unused_constants();
    return std::move(to_);
  }

 private:
  void input(std::size_t i) {
    const Value v = from_.main().params[i];
    Builder main(to_);
    Type type = rewriter_.input_type(from_, i, main);
    const bool same = type == from_.type(v);
    if (!keeps_) {
      const Tensor* const given = same ? from_.input_default(i) : nullptr;
      map_[v.id] = main.input(from_.input_names()[i], std::move(type), given != nullptr ? *given : Tensor()).value;
      return;
    }
    map_[v.id] = v;
    if (same) return;
    write_.set_type(v, std::move(type));
    write_->input_defaults[i] = {};
  }

  /// Returns true if nodes of the frame's block keep their rows.
  bool keeps(const RebuildFrame& f) const { return keeps_ && f.from == f.to; }

  void push(const RebuildFrame& f) {
    if (keeps(f)) write_.block(f.to).nodes.clear();
    stack_.push_back(f);
  }

  bool is_written(Value old) const { return old && (map_[old.id] || from_.constant(old) != nullptr); }

  Value mapped(Value old) {
    if (!old) return old;
    if (!map_[old.id] && keeps_) {
      map_[old.id] = old;
    } else if (!map_[old.id]) {
      const Constant* c = from_.constant(old);
      Builder main(to_);
      map_[old.id] = main.constant(c->tensor, from_.value_name(old)).value;
    }
    return map_[old.id];
  }

  std::vector<Value> mapped(std::span<const Value> old) {
    std::vector<Value> now(old.size());
    std::ranges::transform(old, now.begin(), [this](Value v) { return mapped(v); });
    return now;
  }

  void bind_outputs(const Node& old, std::span<const Value> now) {
    for (std::size_t i = 0; i < old.out.size(); ++i) {
      if (!old.out[i]) continue;
      map_[old.out[i].id] = now[i];
      const bool unnamed = now[i] && to_.value_name(now[i]).empty();
      if (unnamed && rewriter_.keeps_elements(old.out[i])) write_.value(now[i]).name = from_.value_name(old.out[i]);
    }
  }

  Status copy(RebuildFrame& f, NodeId id) {
    FRAZIL_CHECK(check_load());
    const Node& node = from_.node(id);
    const bool pinned = assumes(from_, id);
    if (!pinned && rewriter_.drops(from_, id)) {
      if (keeps(f)) write_.remove(id);
      return {};
    }
    Builder builder(to_, f.to);
    if (!node.blocks.empty()) return region(f, id, mapped(node.in));
    inputs_.resize(node.in.size());
    std::ranges::transform(node.in, inputs_.begin(), [this](Value v) { return mapped(v); });
    const std::span<const Value> inputs = inputs_;
    const NextKey next_key(write_, first_key(from_, id));
    const std::size_t first = to_.node_count();
    const Builder::Mark before = builder.mark();
    FRAZIL_TRY(auto replaced, rewriter_.rewrite(from_, id, builder, inputs));
    if (replaced && pinned && !keeps_assumptions(id, first)) {
      builder.rollback(before);
      write_->next_key = first_key(from_, id);
      replaced.reset();
    }
    if (replaced) {
      for (auto n = static_cast<std::uint32_t>(first); n < to_.node_count(); ++n) {
        std::string& name = write_.node({n}).name;
        if (name.empty()) name = node.name;
      }
      if (!f.again && !replaced->empty() && replaced->front()) {
        const auto maker = to_.producer(replaced->front());
        if (maker && maker->id >= first) write_.node(*maker).stable = node.stable;
      }
      bind_outputs(node, *replaced);
      if (keeps(f)) write_.remove(id);
      return {};
    }
    if (keeps(f)) {
      FRAZIL_CHECK(keep_node(id, inputs));
      rewriter_.copied(to_, id);
      return {};
    }
    FRAZIL_TRY(const NodeId made, copy_node(id, builder, {inputs.begin(), inputs.end()}));
    rewriter_.copied(to_, made);
    if (!f.again) write_.node(made).stable = node.stable;
    bind_outputs(node, to_.node(made).out);
    return {};
  }

  /// Keeps a node in its row. Sets its new inputs and infers its types again if they may differ.
  Status keep_node(NodeId id, std::span<const Value> inputs) {
    const Node& node = from_.node(id);
    const bool same = std::ranges::equal(inputs, node.in);
    const bool alike =
        rewriter_.keeps_types(id) && (same ? matcher_.matches(node.in, inputs) : matcher_.infers_same(id, inputs));
    if (!same) write_.node(id).in.assign(inputs.begin(), inputs.end());
    if (!alike) FRAZIL_CHECK(infer_node(to_, id));
    write_.place(id);
    keep_values(node.out);
    return {};
  }

  /// Maps values to themselves.
  void keep_values(std::span<const Value> values) {
    for (const Value v : values) {
      if (!v) continue;
      map_[v.id] = v;
      if (!rewriter_.keeps_elements(v) && !to_.value_name(v).empty()) write_.value(v).name.clear();
    }
  }

  Result<NodeId> copy_node(NodeId id, Builder& builder, std::vector<Value> inputs) {
    const Node& node = from_.node(id);
    const bool same =
        !infers_all_ && rewriter_.keeps_types(id) && !assumes(from_, id) && matcher_.infers_same(id, inputs);
    if (!same) {
      return builder.append(*node.op, std::move(inputs), node.attrs, wanted_outputs(node), node.name);
    }
    const NodeId made = write_.add_node(*node.op, std::move(inputs), node.attrs, builder.block(), node.name);
    write_.add_results(made, wanted_outputs(node));
    write_.set_like(made, from_, node);
    write_.place(made);
    return made;
  }

  /// Returns true if the nodes from `first` on make the same assumptions as a node of `from`.
  bool keeps_assumptions(NodeId id, std::size_t first) const {
    return std::ranges::all_of(assumptions_at(from_, id), [&](const Assumption& a) {
      const auto at = std::ranges::find(to_.assumptions(), a.key, &Assumption::key);
      return at != to_.assumptions().end() && at->node.id >= first && at->value == a.value;
    });
  }

  Status region(RebuildFrame& f, NodeId id, std::vector<Value> inputs) {
    Builder builder(to_, f.to);
    FRAZIL_TRY(const auto inlined, rewriter_.inlines(from_, id, builder, inputs));
    if (inlined) {
      if (keeps(f)) write_.remove(id);
      return splice(f.to, id, *inlined, f.again);
    }
    return open(f, id, std::move(inputs));
  }

  /// Places the next part that replaces a region.
  Status splice(BlockId to, NodeId id, const Rewriter::Inlined& inlined, bool again) {
    if (!inlined.splice) {
      bind_outputs(from_.node(id), inlined.outputs);
      return {};
    }
    const BlockId from = from_.node(id).blocks[inlined.splice->block];
    const auto& params = from_.block(from).params;
    for (std::size_t k = 0; k < params.size(); ++k) map_[params[k].id] = inlined.splice->params[k];
    push({from, to, id, {}, inlined.splice->block, 0, true, again});
    return {};
  }

  Status open(RebuildFrame& f, NodeId id, std::vector<Value> inputs) {
    const Node& node = from_.node(id);
    std::vector<std::size_t> params;
    for (BlockId b : node.blocks) params.push_back(from_.block(b).params.size());
    Builder builder(to_, f.to);
    FRAZIL_CHECK(rewriter_.open(from_, id, builder, [this](Value v) { return mapped(v); }, inputs));
    if (keeps(f)) return reopen(id, std::move(inputs));
    FRAZIL_TRY(const NodeId made, builder.open(*node.op, std::move(inputs), node.attrs, params, node.name));
    if (!f.again) write_.node(made).stable = node.stable;
    enter(id, made, 0, f.again);
    return {};
  }

  /// Keeps a region in its row and enters its first body. Types the params of the bodies again if inputs differ.
  Status reopen(NodeId id, std::vector<Value> inputs) {
    const Node& node = from_.node(id);
    const bool alike = rewriter_.keeps_types(id) && matcher_.matches(node.in, inputs);
    while (!inputs.empty() && !inputs.back()) inputs.pop_back();
    if (!std::ranges::equal(inputs, node.in)) write_.node(id).in = std::move(inputs);
    if (!alike) {
      FRAZIL_CHECK(check_inputs(to_, id));
      for (std::size_t k = 0; k < node.blocks.size(); ++k) FRAZIL_CHECK(type_params(to_, id, k));
    }
    enter(id, id, 0, false);
    return {};
  }

  /// Ends a region that is kept in its row. Infers its types again if inputs, params or results of bodies differ.
  Status reclose(NodeId id) {
    const Node& node = from_.node(id);
    bool alike = rewriter_.keeps_types(id) && matcher_.matches(node.in, to_.node(id).in);
    for (const BlockId b : node.blocks) {
      alike = alike && matcher_.matches(from_.block(b).params, to_.block(b).params) &&
              matcher_.matches(from_.block(b).results, to_.block(b).results) &&
              std::ranges::equal(from_.block(b).results, to_.block(b).results, [this](Value was, Value now) {
                return !was || from_.def(was).kind == to_.def(now).kind;  // a param as a Loop's condition ends nothing
              });
    }
    if (!alike || refers_to_replaced(node.out)) FRAZIL_CHECK(infer_region(to_, id));
    write_.place(id);
    keep_values(node.out);
    return {};
  }

  /// Returns true if an extent of the values is an element of a value that another one replaces, such as a trip count.
  bool refers_to_replaced(std::span<const Value> values) const {
    const auto replaced = [this](SymbolId s) {
      const auto origin = from_.origin(s);
      if (!origin) return false;
      const Value now = map_[origin->value.id];
      return now && now != origin->value;
    };
    return std::ranges::any_of(values, [&](Value v) {
      return v && std::ranges::any_of(from_.type(v).shape, [&](Dim d) {
               return std::ranges::any_of(from_.scope().symbols_of(d), replaced);
             });
    });
  }

  void enter(NodeId old, NodeId made, std::size_t index, bool again) {
    const BlockId from = from_.node(old).blocks[index], to = to_.node(made).blocks[index];
    const auto &params = from_.block(from).params, &now = to_.block(to).params;
    const bool kept = keeps_ && from == to;
    if (kept) keep_values(params);
    for (std::size_t k = 0; k < params.size() && !kept; ++k) {
      map_[params[k].id] = now[k];
      if (rewriter_.keeps_elements(params[k])) write_.value(now[k]).name = from_.value_name(params[k]);
    }
    push({from, to, old, made, index, 0, false, again});
  }

  Status end_block() {
    const RebuildFrame f = stack_.back();
    stack_.pop_back();
    std::vector<Value> results = mapped(from_.block(f.from).results);
    Builder inner(to_, f.to);
    FRAZIL_CHECK(rewriter_.end(from_, f.from, inner, results));
    if (!f.region_from) {
      write_.block(Graph::kMain).results = std::move(results);
      write_->output_names = from_.output_names();
      return {};
    }
    const BlockId outer = stack_.back().to;
    Builder builder(to_, outer);
    if (f.spliced) {
      FRAZIL_TRY(const auto inlined, rewriter_.spliced(from_, f.region_from, builder, results));
      const bool same = inlined.splice && inlined.splice->block == f.block_index;
      return splice(outer, f.region_from, inlined, f.again || same);
    }
    builder.yield(f.region_to, f.block_index, std::move(results));
    const Node& node = from_.node(f.region_from);
    if (f.block_index + 1 < node.blocks.size()) {
      enter(f.region_from, f.region_to, f.block_index + 1, f.again);
      return {};
    }
    if (keeps(f)) return reclose(f.region_to);
    FRAZIL_CHECK(builder.close(f.region_to, wanted_outputs(node)));
    bind_outputs(node, to_.node(f.region_to).out);
    return {};
  }

  const Graph& from_;
  Rewriter& rewriter_;
  const bool keeps_;  // rows
  Graph to_;
  GraphWriter write_;
  TypeMatcher matcher_;
  std::vector<Value> map_;
  std::vector<Value> inputs_;  // of the node at hand: no allocation per node and pass
  std::vector<RebuildFrame> stack_;
  bool infers_all_ = false;  // because types follow other choices
};

Choices choices_of(const Graph& graph) {
  Choices choices;
  for (const Assumption& a : graph.assumptions()) choices.by_key[a.key] = a.value;
  return choices;
}

Result<Graph> rebuild(const Graph& from, const Choices& choices) {
  Copier copier;
  Rebuilder rebuilder(from, copier, Rebuilder::Rows::copied);
  rebuilder.choose(choices);
  return rebuilder.run();
}

Result<Graph> rebuild(const Graph& from, Rewriter& rewriter) {
  const bool keeps = from.assumptions().empty() && rewriter.keeps_rows();
  return Rebuilder(from, rewriter, keeps ? Rebuilder::Rows::kept : Rebuilder::Rows::copied).run();
}

}  // namespace frazil
