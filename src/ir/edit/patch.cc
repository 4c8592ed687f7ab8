#include "ir/edit/patch.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ir/edit/graph_writer.h"
#include "ir/edit/patch_place.h"
#include "ir/edit/patch_sink.h"
#include "ir/edit/rebuild.h"
#include "ir/graph/names.h"
#include "ir/graph/verify.h"
#include "ir/op/op.h"
#include "ir/text/text_walk.h"

namespace frazil {

/// The edited copy. New nodes are at the end of its main block until commit() moves them to their places.
struct Patch::State {
  State(const Graph& graph, std::string patch_name)
      : old(graph),
        name(std::move(patch_name)),
        edit(graph),
        builder(edit),
        old_nodes(graph.main().nodes.size()),
        old_results(graph.main().results.size()) {}

  const Graph& old;
  std::string name;
  Graph edit;
  Builder builder;
  std::size_t old_nodes, old_results;  ///< of the main block
  std::map<Value, Value> replaced;
  std::map<Value, std::string> renamed;
  std::unordered_set<std::uint32_t> tapped;
  std::unordered_set<std::uint32_t> edited;  ///< nodes of `old` whose inputs or attributes differ
  std::vector<NodeId> removed;
  std::vector<std::pair<NodeId, std::size_t>> dropped;
  std::vector<PatchSink> sinks;
  std::vector<std::string> notes;
  Status status;

  template <class... A>
  void error(fmt::format_string<A...> format, A&&... args) {
    if (status) status = fail(Code::bad_model, format, std::forward<A>(args)...);
  }
  void note(std::string text) { notes.push_back(std::move(text)); }
  bool contains(Value v) const { return v.id < old.value_count(); }
  bool contains(NodeId id) {
    if (id.id < old.node_count()) return true;
    error("node {} is not one of the graph", id.id);
    return false;
  }
  std::string show(Value v) const {
    const std::string& text = old.value_name(v);
    if (!text.empty() || !old.producer(v)) return "%" + text;
    return output_name(old, v);
  }
  std::span<const NodeId> added() const { return std::span(edit.main().nodes).subspan(old_nodes); }
  std::span<const Value> new_results() const { return std::span(edit.main().results).subspan(old_results); }
  bool is_new(NodeId id) const { return id.id >= old.node_count(); }

  void redirect_uses();
  void pass_names_on();
};

Patch::Patch(const Graph& graph, std::string name) : state_(std::make_unique<State>(graph, std::move(name))) {}
Patch::~Patch() = default;
Patch::Patch(Patch&&) noexcept = default;
Patch& Patch::operator=(Patch&&) noexcept = default;

Builder& Patch::build() { return state_->builder; }

Expr Patch::tap(Value old) {
  if (!state_->contains(old)) {
    state_->error("value {} is not one of the graph", old.id);
    return state_->builder.absent();
  }
  state_->tapped.insert(old.id);
  return {&state_->builder, old};
}

const Status& Patch::status() const { return state_->status ? state_->builder.status() : state_->status; }

namespace {

/// Returns the reason why `now` cannot replace `old`; empty if it can.
std::string disagreement(const Scope& scope, const Type& old, const Type& now) {
  const auto tell = [&](std::string_view what) {
    return fmt::format("{} cannot replace {}: {}", str(now, scope), str(old, scope), what);
  };
  const Type *a = &old, *b = &now;
  for (; a && b; a = a->item.get(), b = b->item.get()) {
    if (a->kind != b->kind) return tell("another kind of value");
    if (a->elem != b->elem) return tell("another element type");
    if (!a->ranked || !b->ranked) continue;
    if (a->rank() != b->rank()) return tell("another rank");
    for (std::size_t i = 0; i < a->rank(); ++i) {
      if (scope.equal(a->shape[i], b->shape[i]) == Proof::no) return tell(fmt::format("another extent of axis {}", i));
    }
  }
  return {};
}

}  // namespace

void Patch::replace(Value old, Expr with) {
  State& s = *state_;
  if (!s.contains(old)) return s.error("value {} is not one of the graph", old.id);
  if (!s.status || !s.builder.status()) return;
  if (with.builder != &s.builder || !with)
    return s.error("{}: its replacement does not belong to this patch", s.show(old));
  const std::string why = disagreement(s.edit.scope(), s.edit.type(old), s.edit.type(with.value));
  if (!why.empty()) return s.error("{}: {}", s.show(old), why);
  if (!s.replaced.emplace(old, with.value).second) return s.error("{} is replaced twice", s.show(old));
  s.note(s.show(old) + " replaced");
}

void Patch::replace_node(NodeId id, std::span<const Expr> with) {
  State& s = *state_;
  if (!s.contains(id)) return;
  const std::vector<Value>& out = s.old.node(id).out;
  if (with.size() != out.size()) {
    return s.error("{} has {} outputs, {} replacements given", s.old.describe(id), out.size(), with.size());
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i]) replace(out[i], with[i]);
  }
  remove(id);
}

void Patch::remove(NodeId id) {
  State& s = *state_;
  if (!s.contains(id)) return;
  s.removed.push_back(id);
  s.note(s.old.describe(id) + " removed");
}

void Patch::drop_output(NodeId id, std::size_t index) {
  State& s = *state_;
  if (!s.contains(id)) return;
  if (index >= s.old.node(id).out.size()) return s.error("{} has no output {}", s.old.describe(id), index);
  s.dropped.emplace_back(id, index);
  s.note(fmt::format("output {} of {} dropped", index, s.old.describe(id)));
}

void Patch::set_attribute(NodeId id, std::string_view name, const AttrValue& value) {
  State& s = *state_;
  if (!s.contains(id)) return;
  Node& node = GraphWriter(s.edit).node(id);
  const AttrField* field = node.op->attrs.find(name);
  if (!field) return s.error("{} has no attribute '{}'", s.old.describe(id), name);
  const std::shared_ptr<void> attrs = node.op->attrs.copy(node.attrs.get());
  if (const Status set = field->set(attrs.get(), value); !set) {
    return s.error("{}: {}", s.old.describe(id), set.error().text());
  }
  node.attrs = attrs;
  s.edited.insert(id.id);
  s.note(fmt::format("{} of {} set", name, s.old.describe(id)));
}

void Patch::rename(NodeId id, std::string_view name) {
  State& s = *state_;
  if (!s.contains(id)) return;
  GraphWriter(s.edit).node(id).name = name;
  s.note(fmt::format("{} renamed to '{}'", s.old.describe(id), name));
}

void Patch::rename(Value old, std::string_view name) {
  State& s = *state_;
  if (!s.contains(old)) return s.error("value {} is not one of the graph", old.id);
  s.renamed[old] = name;
}

void Patch::sink(NodeId region, std::size_t body, std::vector<Value> keep) {
  State& s = *state_;
  if (!s.is_new(region)) return s.error("{} is not new", s.old.describe(region));
  s.sinks.push_back({region, body, std::move(keep)});
}

void Patch::remove_graph_output(std::string_view name) {
  State& s = *state_;
  auto& names = GraphWriter(s.edit)->output_names;
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) return s.error("the graph has no output '{}'", name);
  auto& results = GraphWriter(s.edit).block(Graph::kMain).results;
  if (static_cast<std::size_t>(at - names.begin()) < s.old_results) --s.old_results;
  results.erase(results.begin() + (at - names.begin()));
  names.erase(at);
  s.note(fmt::format("output '{}' removed", name));
}

std::string Patch::str() const {
  const State& s = *state_;
  std::string ops, rest;
  for (NodeId id : s.added()) ops += (ops.empty() ? "" : ", ") + std::string(s.edit.node(id).op->name);
  if (!ops.empty())
    rest = fmt::format("{} new {} ({})", s.added().size(), s.added().size() == 1 ? "node" : "nodes", ops);
  for (const std::string& note : s.notes) rest += (rest.empty() ? "" : "; ") + note;
  return fmt::format("patch '{}': {}", s.name, rest.empty() ? "no change" : rest);
}

namespace {

/// Finds a position for each new node of an edited graph.
class Placement {
 public:
  Placement(const Graph& old, const Graph& edit, std::span<const NodeId> added)
      : edit_(edit), added_(added), places_(old), old_values_(old.value_count()) {
    for (std::size_t i = 0; i < added.size(); ++i) number_[added[i].id] = i;
    wish_.resize(added.size());
    for (NodeId id : added) uses_.push_back(values_used(edit, id));
  }

  /// Requests that the nodes that make `with` are placed where `old` is defined.
  void wish(Value old, Value with) {
    const auto maker = maker_of(with);
    const auto place = places_.after(old);
    if (maker && place) want(*maker, *place);
  }
  /// Requests that the nodes that make `v`, a result of the graph, are placed at the end.
  void wish_end(Value v, std::size_t nodes) {
    if (const auto maker = maker_of(v)) want(*maker, {Graph::kMain, nodes});
  }

  Result<std::vector<PatchPlace>> run() {
    for (std::size_t i = added_.size(); i-- > 0;) {
      if (!wish_[i]) continue;
      for (Value v : uses_[i]) {
        if (const auto maker = maker_of(v)) want(*maker, *wish_[i]);
      }
    }
    for (std::size_t i = 0; i < added_.size(); ++i) {
      FRAZIL_TRY(const PatchPlace earliest, earliest_of(i));
      found_.push_back(wish_[i] && places_.dominates(earliest, *wish_[i]) ? *wish_[i] : earliest);
    }
    return found_;
  }

 private:
  std::optional<std::size_t> maker_of(Value v) const {
    const auto id = v ? edit_.producer(v) : std::nullopt;
    const auto it = id ? number_.find(id->id) : number_.end();
    return it == number_.end() ? std::nullopt : std::optional(it->second);
  }

  void want(std::size_t node, PatchPlace place) {
    wish_[node] = wish_[node] ? places_.common(*wish_[node], place) : place;
  }

  std::optional<PatchPlace> after(Value v) const {
    if (!v) return std::nullopt;
    if (const auto maker = maker_of(v)) return found_[*maker];
    return v.id < old_values_ ? places_.after(v) : std::nullopt;
  }

  Result<PatchPlace> earliest_of(std::size_t i) {
    PatchPlace place{Graph::kMain, 0};
    for (Value v : uses_[i]) {
      const auto use = after(v);
      if (!use) continue;
      const auto both = places_.later(place, *use);
      if (!both)
        return fail(Code::bad_model, "{} uses values that are never visible together", edit_.describe(added_[i]));
      place = *both;
    }
    return place;
  }

  const Graph& edit_;
  std::span<const NodeId> added_;
  PatchPlaces places_;
  std::size_t old_values_;
  std::unordered_map<std::uint32_t, std::size_t> number_;  // by id of a new node: its index in added_
  std::vector<std::vector<Value>> uses_;
  std::vector<std::optional<PatchPlace>> wish_;
  std::vector<PatchPlace> found_;
};

/// Moves the new nodes, `added`, from the end of the main block to their places.
void insert(Graph& graph, const std::vector<NodeId>& added, const std::vector<PatchPlace>& places) {
  std::map<std::uint32_t, std::vector<std::size_t>> by_block;
  for (std::size_t i = 0; i < added.size(); ++i) by_block[places[i].block.id].push_back(i);
  Block& main = GraphWriter(graph).block(Graph::kMain);
  main.nodes.resize(main.nodes.size() - added.size());
  for (auto& [block, list] : by_block) {
    std::ranges::stable_sort(list, {}, [&](std::size_t i) { return places[i].index; });
    std::vector<NodeId>& nodes = GraphWriter(graph).block({block}).nodes;
    std::vector<NodeId> merged;
    std::size_t next = 0;
    for (std::size_t at = 0; at <= nodes.size(); ++at) {
      for (; next < list.size() && places[list[next]].index == at; ++next) merged.push_back(added[list[next]]);
      if (at < nodes.size()) merged.push_back(nodes[at]);
    }
    nodes = std::move(merged);
    for (std::size_t i : list) {
      GraphWriter(graph).node(added[i]).parent = {block};
      for (BlockId b : graph.node(added[i]).blocks) GraphWriter(graph).block(b).parent = {block};
    }
  }
}

/// All values that a graph uses.
struct Uses {
  const Graph& graph;
  std::unordered_set<std::uint32_t> values{};
  void add(const std::vector<Value>& list) {
    for (Value v : list) values.insert(v.id);
  }
  Status enter(BlockId) { return {}; }
  Status node(NodeId id) { return add(graph.node(id).in), Status{}; }
  Status done(NodeId) { return {}; }
  Status leave(BlockId id) { return add(graph.block(id).results), Status{}; }
};

/// Infers the types of nodes that were edited in place, and the types that depend on them.
class EditCopier : public Rewriter {
 public:
  EditCopier(const std::unordered_set<std::uint32_t>& edited, bool keeps_rows)
      : edited_(edited), keeps_rows_(keeps_rows) {}
  bool keeps_rows() const override { return keeps_rows_; }
  bool keeps_types(NodeId node) const override { return !edited_.contains(node.id); }

 private:
  const std::unordered_set<std::uint32_t>& edited_;
  bool keeps_rows_;
};

/// Returns true if most rows of values belong to nodes and constants that earlier patches have removed.
bool is_mostly_removed(const Graph& graph) {
  std::size_t used = 256;
  for (std::uint32_t b = 0; b < graph.block_count(); ++b) used += graph.block({b}).params.size();
  for (const NodeId n : graph.nodes()) used += graph.node(n).out.size();
  for (std::uint32_t v = 0; v < graph.value_count(); ++v) used += graph.constant({v}) != nullptr ? 1 : 0;
  return graph.value_count() > 2 * used;
}

/// Removes unused nodes and outputs. Returns an error if one of them is used.
Status remove_unused(Graph& graph, std::span<const NodeId> nodes,
                     std::span<const std::pair<NodeId, std::size_t>> outputs) {
  std::unordered_set<std::uint32_t> gone, blocks;
  for (NodeId id : nodes) {
    gone.insert(id.id);
    blocks.insert(graph.node(id).parent.id);
  }
  for (const std::uint32_t b : blocks) {
    std::erase_if(GraphWriter(graph).block(BlockId{b}).nodes, [&](NodeId n) { return gone.contains(n.id); });
  }
  Uses uses{graph};
  FRAZIL_CHECK(walk(graph, uses));
  const auto check = [&](NodeId id, Value v, std::size_t index) -> Status {
    if (!v || !uses.values.contains(v.id)) return {};
    return fail(Code::bad_model, "output {} of {} is still used", index, graph.describe(id));
  };
  for (NodeId id : nodes) {
    for (std::size_t i = 0; i < graph.node(id).out.size(); ++i) FRAZIL_CHECK(check(id, graph.node(id).out[i], i));
  }
  for (const auto& [id, index] : outputs) {
    FRAZIL_CHECK(check(id, graph.node(id).out[index], index));
    std::vector<Value>& out = GraphWriter(graph).node(id).out;
    out[index] = {};
    if (std::ranges::none_of(out, [](Value v) { return static_cast<bool>(v); })) {
      return fail(Code::bad_model, "{} would have no output left", graph.describe(id));
    }
  }
  for (const NodeId id : nodes) GraphWriter(graph).remove(id);
  return {};
}

}  // namespace

void Patch::State::redirect_uses() {
  InnerUses kept;
  for (const PatchSink& sink : sinks) kept.add(old, edit.block(edit.node(sink.region).blocks[sink.body]).results);
  const auto redirected = [&](Value v, auto user) {
    const auto it = replaced.find(v);
    return it == replaced.end() || kept.has(user, v) ? v : it->second;
  };
  for (const NodeId n : old.nodes()) {
    for (std::size_t i = 0; i < edit.node(n).in.size(); ++i) {
      const Value v = edit.node(n).in[i], now = redirected(v, n);
      if (now == v) continue;
      GraphWriter(edit).node(n).in[i] = now;
      edited.insert(n.id);
    }
  }
  for (std::uint32_t b = 0; b < old.block_count(); ++b) {
    std::vector<Value>& results = GraphWriter(edit).block({b}).results;
    for (Value& v : std::span(results).first(b == 0 ? old_results : results.size())) v = redirected(v, BlockId{b});
  }
}

/// Passes names on. A new node without a name takes that of the node whose value it replaces or helps to replace.
void Patch::State::pass_names_on() {
  const auto give = [&](Value v, const std::string& node_name) {
    const auto maker = v ? edit.producer(v) : std::nullopt;
    if (!maker || !is_new(*maker)) return;
    std::string& own = GraphWriter(edit).node(*maker).name;
    if (own.empty()) own = node_name;
  };
  for (const auto& [from, to] : replaced) {
    if (const auto maker = old.producer(from)) give(to, old.node(*maker).name);
    if (!edit.value_name(to).empty() || edit.constant(to) || contains(to)) continue;
    builder.name_value(to, old.value_name(from));
    if (old.producer(from) && !tapped.contains(from.id)) builder.name_value(from, "");
  }
  for (const auto& [value, new_name] : renamed) {
    if (!edit.value_name(value).empty()) builder.name_value(value, new_name);
  }
  const std::vector<NodeId> nodes(added().begin(), added().end());
  for (std::size_t i = nodes.size(); i-- > 0;) {
    for (Value v : edit.node(nodes[i]).in) give(v, std::string(edit.node(nodes[i]).name));
  }
}

Result<Graph> Patch::commit() && {
  State& s = *state_;
  const std::string context = fmt::format("patch '{}': ", s.name);
  const auto apply = [&]() -> Result<Graph> {
    FRAZIL_CHECK(s.status);
    FRAZIL_CHECK(s.builder.status());
    const std::vector<NodeId> added(s.added().begin(), s.added().end());
    Placement placement(s.old, s.edit, added);
    for (const auto& [old, with] : s.replaced) placement.wish(old, with);
    for (Value v : s.new_results()) placement.wish_end(v, s.old_nodes);
    FRAZIL_TRY(const std::vector<PatchPlace> places, placement.run());
    s.redirect_uses();
    s.pass_names_on();
    insert(s.edit, added, places);
    for (const PatchSink& sink : s.sinks) FRAZIL_CHECK(sink_nodes(s.edit, sink));
    FRAZIL_CHECK(remove_unused(s.edit, s.removed, s.dropped));
    if (Status tables = verify(s.edit, 1); !tables) return fail(Code::bad_model, "{}", tables.error().text());
    // Nodes inside of bodies were inferred outside of them.
    const auto inside = [](const PatchPlace& p) { return p.block != Graph::kMain; };
    const bool moves = !s.sinks.empty() || std::ranges::any_of(places, inside);
    EditCopier copier(s.edited, !moves && !is_mostly_removed(s.edit));
    FRAZIL_TRY(Graph made, rebuild(s.edit, copier));
    GraphWriter(made).remove_unused_constants();
    if (made.assumptions().empty()) return made;
    // Types may rely on an assumption of a node that has moved.
    return rebuild(made, choices_of(made));
  };
  auto graph = apply();
  if (!graph) return within(context, std::move(graph).error());
  return graph;
}

}  // namespace frazil
