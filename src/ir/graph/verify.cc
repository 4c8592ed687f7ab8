#include "ir/graph/verify.h"

#include <algorithm>
#include <unordered_set>

#include "ir/edit/rebuild.h"
#include "ir/op/op.h"
#include "ir/text/text.h"
#include "ir/text/text_names.h"
#include "ir/text/text_walk.h"

namespace frazil {
namespace {

template <class... A>
std::unexpected<Fault> wrong(fmt::format_string<A...> format, A&&... args) {
  return fail(Code::internal, format, std::forward<A>(args)...);
}

Status unique(const std::vector<std::string>& names, std::string_view what) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) return wrong("two {}s are called '{}'", what, name);
  }
  return {};
}

/// Checks level 1, in the order of the text. A value is visible from its definition to the end of its block.
class TableCheck {
 public:
  explicit TableCheck(const Graph& graph)
      : graph_(graph), visible_(graph.value_count()), nodes_(graph.node_count()), blocks_(graph.block_count()) {}

  Status run() {
    const Block& main = graph_.main();
    if (main.params.size() != graph_.input_names().size()) return wrong("inputs and their names differ in number");
    if (main.results.size() != graph_.output_names().size()) return wrong("outputs and their names differ in number");
    FRAZIL_CHECK(unique(graph_.input_names(), "input"));
    FRAZIL_CHECK(unique(graph_.output_names(), "output"));
    return walk(graph_, *this);
  }

  Status enter(BlockId id) {
    if (id.id >= blocks_.size()) return wrong("{} has a block that does not exist", where());
    if (std::exchange(blocks_[id.id], char{1})) return wrong("{}: block {} appears twice", where(), id.id);
    const Block& block = graph_.block(id);
    const bool main = id == Graph::kMain;
    if (block.owner != (main ? NodeId{} : at_) || block.parent != (main ? BlockId{} : graph_.node(at_).parent)) {
      return wrong("{}: block {} has another owner or parent", where(), id.id);
    }
    open_.push_back({id, defined_.size(), at_});
    for (std::size_t k = 0; k < block.params.size(); ++k) {
      FRAZIL_CHECK(define(block.params[k], {ValueDef::Kind::param, id.id, static_cast<std::uint32_t>(k)}));
    }
    return {};
  }

  Status node(NodeId id) {
    at_ = {};
    if (id.id >= nodes_.size()) return wrong("block {} has a node that does not exist", open_.back().block.id);
    const Node& n = graph_.node(id);
    if (!n.op || !n.attrs) return wrong("node #{} has no operator or no attributes", n.stable);
    at_ = id;
    if (std::exchange(nodes_[id.id], char{1})) return wrong("{} appears twice", where());
    if (!stable_.insert(n.stable).second) return wrong("{}: its stable id {} is taken", where(), n.stable);
    if (n.parent != open_.back().block)
      return wrong("{}: its parent is block {}, expected {}", where(), n.parent.id, open_.back().block.id);
    const auto* region = std::get_if<Region>(&n.op->form);
    if (n.blocks.size() != (region ? region->blocks : 0))
      return wrong("{}: it has {} blocks", where(), n.blocks.size());
    for (std::size_t i = 0; i < n.in.size(); ++i) {
      if (n.in[i]) FRAZIL_CHECK(use(n.in[i], "input", i));
    }
    return n.blocks.empty() ? results(id) : Status{};
  }

  Status done(NodeId id) {
    at_ = id;
    return results(id);
  }

  Status leave(BlockId id) {
    at_ = open_.back().owner;
    const std::vector<Value>& values = graph_.block(id).results;
    for (std::size_t i = 0; i < values.size(); ++i) FRAZIL_CHECK(use(values[i], "block result", i));
    for (std::size_t i = open_.back().defined; i < defined_.size(); ++i) visible_[defined_[i].id] = false;
    defined_.resize(open_.back().defined);
    open_.pop_back();
    return {};
  }

 private:
  struct Open {
    BlockId block;
    std::size_t defined;
    NodeId owner;
  };

  std::string where() const { return at_ ? graph_.describe(at_) : "the graph"; }

  Status results(NodeId id) {
    const Node& n = graph_.node(id);
    for (std::size_t i = 0; i < n.out.size(); ++i) {
      if (n.out[i]) FRAZIL_CHECK(define(n.out[i], {ValueDef::Kind::node, id.id, static_cast<std::uint32_t>(i)}));
    }
    const bool ranked = std::ranges::any_of(n.out, [&](Value v) { return v && graph_.type(v).ranked; });
    if (ranked && std::holds_alternative<Contraction>(n.op->form) && !n.space) {
      return wrong("{}: it has no iteration space", where());
    }
    const std::size_t maps = n.views ? n.views->size() : 0;
    if (ranked && std::holds_alternative<View>(n.op->form) && maps < n.out.size()) {
      return wrong("{}: it has maps for {} of {} results", where(), maps, n.out.size());
    }
    return {};
  }

  Status define(Value v, ValueDef def) {
    if (v.id >= visible_.size()) return wrong("{} defines a value that does not exist", where());
    const ValueDef& known = graph_.def(v);
    if (known.kind != def.kind || known.owner != def.owner || known.index != def.index) {
      return wrong("{}: the definition record of value {} names another place", where(), v.id);
    }
    visible_[v.id] = true;
    defined_.push_back(v);
    return {};
  }

  Status use(Value v, std::string_view what, std::size_t index) {
    if (!v || v.id >= visible_.size()) return wrong("{}: {} {} does not exist", where(), what, index);
    if (visible_[v.id] || graph_.constant(v)) return {};
    const auto maker = graph_.producer(v);
    return wrong("{}: {} {} is not defined there{}", where(), what, index,
                 maker ? ", it comes from " + graph_.describe(*maker) : "");
  }

  const Graph& graph_;
  std::vector<char> visible_, nodes_, blocks_;  // flags
  std::unordered_set<std::uint32_t> stable_;
  std::vector<Value> defined_;
  std::vector<Open> open_;
  NodeId at_;
};

class InferringCopier : public Rewriter {
 public:
  bool keeps_rows() const override { return false; }
  bool keeps_types(NodeId) const override { return false; }
};

/// Checks level 2: compares a graph with its re-inferred copy. Unbacked symbols that occur at the same place get the
/// same name.
class TypeCheck {
 public:
  TypeCheck(const Graph& graph, const Graph& copy)
      : graph_(graph),
        copy_(copy),
        ours_(graph.scope(), DimText::Rename::unbacked),
        theirs_(copy.scope(), DimText::Rename::unbacked) {
    blocks_[Graph::kMain.id] = Graph::kMain;
  }

  Status enter(BlockId id) {
    next_.push_back(0);
    return same(graph_.block(id).params, copy_.block(blocks_[id.id]).params);
  }
  Status node(NodeId id) {
    at_ = id;
    const NodeId twin = copy_.block(blocks_[graph_.node(id).parent.id]).nodes[next_.back()++];
    twins_.push_back(twin);
    const Node &n = graph_.node(id), &m = copy_.node(twin);
    for (std::size_t i = 0; i < n.blocks.size(); ++i) blocks_[n.blocks[i].id] = m.blocks[i];
    return n.blocks.empty() ? done(id) : Status{};
  }
  Status done(NodeId id) {
    at_ = id;
    const NodeId twin = twins_.back();
    twins_.pop_back();
    return same(graph_.node(id).out, copy_.node(twin).out);
  }
  Status leave(BlockId) {
    next_.pop_back();
    return {};
  }

 private:
  Status same(const std::vector<Value>& a, const std::vector<Value>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!a[i]) continue;
      const std::string ours = ours_.str(graph_.type(a[i])), theirs = theirs_.str(copy_.type(b[i]));
      if (ours == theirs) continue;
      return wrong("{}: result {} is {}, but is inferred as {}", at_ ? graph_.describe(at_) : "the graph", i, ours,
                   theirs);
    }
    return {};
  }

  const Graph &graph_, &copy_;
  DimText ours_, theirs_;
  std::unordered_map<std::uint32_t, BlockId> blocks_;
  std::vector<std::size_t> next_;
  std::vector<NodeId> twins_;
  NodeId at_;
};

Status check_types(const Graph& graph) {
  InferringCopier copier;
  auto copy = rebuild(graph, copier);
  if (!copy) return wrong("types cannot be inferred again: {}", copy.error().text());
  TypeCheck check(graph, *copy);
  return walk(graph, check);
}

/// Returns the first line in which two texts differ, from each text.
std::pair<std::string_view, std::string_view> first_difference(std::string_view a, std::string_view b) {
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const auto line = [at](std::string_view text) {
    const std::size_t from = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return text.substr(from, text.find('\n', from) - from);
  };
  return {line(a), line(b)};
}

Status check_text(const Graph& graph) {
  const std::string text = print(graph);
  const auto weights = weights_of(graph);
  const auto again = parse(text, [&](std::string_view name) {
    const auto it = weights.find(name);
    return it == weights.end() ? Tensor{} : it->second;
  });
  if (!again) return wrong("the text form does not parse: {}", again.error().text());
  const std::string second = print(*again);
  if (second == text) return {};
  const auto [ours, theirs] = first_difference(text, second);
  return wrong("the text form changes when it is parsed again: '{}' becomes '{}'", ours, theirs);
}

}  // namespace

Status verify(const Graph& graph, int level) {
  if (level >= 1) FRAZIL_CHECK(TableCheck(graph).run());
  if (level >= 2) FRAZIL_CHECK(check_types(graph));
  if (level >= 3) FRAZIL_CHECK(check_text(graph));
  return {};
}

}  // namespace frazil
