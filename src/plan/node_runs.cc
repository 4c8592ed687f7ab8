#include "plan/node_runs.h"

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"
#include "ir/hash.h"
#include "ir/op.h"
#include "ir/text_names.h"

namespace frazil {

/// Longer runs are cut, so that an edit in a long chain of pointwise nodes does not plan all of it.
constexpr std::size_t kMostNodes = 32;

class RunCutter {
 public:
  RunCutter(const Graph& graph, const Needs& needs, const Fusion& fusion, const Appends& appends,
            const Placements& placements)
      : graph_(graph), needs_(needs), fusion_(fusion), appends_(appends), placements_(placements) {}

  std::vector<std::uint32_t> cut(BlockId block) {
    nodes_ = graph_.block(block).nodes;
    find_groups();
    std::vector<std::uint32_t> ends(nodes_.size(), 0);
    for (std::size_t begin = 0; begin < nodes_.size();) {
      const std::size_t end = end_of(begin);
      if (end > begin && holds_whole_groups(begin, end)) ends[begin] = static_cast<std::uint32_t>(end);
      begin = std::max(end, begin + 1);
    }
    return ends;
  }

 private:
  struct Span {
    std::size_t first = ~std::size_t{0}, last = 0;
  };

  void find_groups() {
    spans_.clear();
    crossed_.assign(nodes_.size() + 1, 0);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const FusionGroup* group = fusion_.group(nodes_[i]);
      if (group == nullptr) continue;
      Span& span = spans_[group];
      span.first = std::min(span.first, i);
      span.last = i;
    }
    for (const auto& [group, span] : spans_) {
      for (std::size_t i = span.first + 1; i <= span.last; ++i) crossed_[i] = 1;
    }
  }

  std::size_t end_of(std::size_t begin) const {
    std::size_t i = begin;
    while (i < nodes_.size() && is_plain(nodes_[i]) && (i == begin || !is_cut(begin, i))) ++i;
    return i;
  }

  bool is_cut(std::size_t begin, std::size_t i) const {
    return crossed_[i] == 0 && (i - begin >= kMostNodes || begins_product(i));
  }

  bool begins_product(std::size_t i) const {
    const FusionGroup* group = fusion_.group(nodes_[i]);
    if (group != nullptr) return static_cast<bool>(group->product) && spans_.at(group).first == i;
    return needs_.node(nodes_[i]) && std::holds_alternative<Contraction>(graph_.node(nodes_[i]).op->form);
  }

  bool holds_whole_groups(std::size_t begin, std::size_t end) const {
    return std::ranges::all_of(nodes_.subspan(begin, end - begin), [&](NodeId n) {
      const FusionGroup* group = fusion_.group(n);
      return group == nullptr || (spans_.at(group).first >= begin && spans_.at(group).last < end);
    });
  }

  /// True where no symbol gets its number from the node, and its results lie in memory of their own.
  bool is_plain(NodeId id) const {
    const Node& n = graph_.node(id);
    if (std::holds_alternative<Region>(n.op->form)) return false;
    if (!needs_.node(id)) return true;
    if (picked_axis(graph_, id) || std::ranges::any_of(n.in, [&](Value v) { return is_appended(v, id); })) return false;
    return std::ranges::all_of(n.out, [&](Value v) { return !v || is_plain(v); });
  }

  bool is_appended(Value v, NodeId by) const {
    const Append* append = v ? appends_.of(v) : nullptr;
    return append != nullptr && append->node == by;
  }

  bool is_plain(Value v) const {
    const auto kind = placements_.of(v).kind;
    const bool own = kind == Placement::Kind::own || kind == Placement::Kind::carried;
    return own && needs_.bound_by(v).empty() && appends_.of(v) == nullptr && !defines_extents(graph_, v);
  }

  const Graph& graph_;
  const Needs& needs_;
  const Fusion& fusion_;
  const Appends& appends_;
  const Placements& placements_;
  std::span<const NodeId> nodes_;
  std::unordered_map<const FusionGroup*, Span> spans_;
  std::vector<char> crossed_;  // per position: a group has members on both sides of it
};

NodeRuns::NodeRuns(const Graph& graph, const Needs& needs, const Fusion& fusion, const Appends& appends,
                   const Placements& placements)
    : graph_(graph) {
  RunCutter cutter(graph, needs, fusion, appends, placements);
  for (std::uint32_t b = 0; b < graph.block_count(); ++b) ends_.push_back(cutter.cut(BlockId{b}));
}

std::span<const NodeId> NodeRuns::at(BlockId block, std::size_t begin) const {
  const std::uint32_t end = ends_[block.id][begin];
  const std::span<const NodeId> nodes = graph_.block(block).nodes;
  return end == 0 ? std::span<const NodeId>{} : nodes.subspan(begin, end - begin);
}

namespace {

constexpr std::size_t kSmallConstant = 4096;  // bytes; the planner reads the elements of no larger one
constexpr std::size_t kLongExtent = 512;      // symbols, numbers and operators, each counted where it occurs

/// Tells which extents are long as text, in time that depends on their distinct parts: a text repeats parts, and can
/// double with each of them.
class ExtentLengths {
 public:
  explicit ExtentLengths(const Scope& scope) : scope_(scope) {}

  bool is_long(Dim d) {
    if (d.is_const()) return false;
    const std::size_t first = program_.code.size();
    const std::uint32_t at = scope_.emit(d, program_, known_);
    lengths_.resize(program_.registers, 1);
    for (const DimProgram::Ins& ins : std::span(program_.code).subspan(first)) {
      if (ins.op == DimProgram::Op::constant) continue;
      lengths_[ins.dst] = std::min(lengths_[ins.a] + lengths_[ins.b] + 1, kLongExtent);
    }
    return lengths_[at] >= kLongExtent;
  }

 private:
  const Scope& scope_;
  DimProgram program_;
  DimRegisters known_;
  std::vector<std::size_t> lengths_;  ///< per register
};

class RunHasher {
 public:
  RunHasher(const PlanWriter& writer, const Fusion& fusion)
      : w_(writer), fusion_(fusion), dims_(writer.scope, DimText::Rename::all), lengths_(writer.scope) {}

  NodeRun run(std::span<const NodeId> nodes) {
    run_.nodes.assign(nodes.begin(), nodes.end());
    for (std::uint32_t i = 0; i < nodes.size(); ++i) place_[nodes[i].id] = i;
    for (NodeId id : nodes) node(id);
    run_.symbols = dims_.named();
    for (SymbolId s : run_.symbols) symbol(s);
    run_.hash = h_.value();
    return std::move(run_);
  }

 private:
  void number(std::uint64_t n) { h_.add(n); }
  void text(std::string_view s) { h_.add(s.size()).add(s); }
  void dim(Dim d) {
    if (d.is_const()) return number(static_cast<std::uint64_t>(d.value()));
    if (!run_.is_local) run_.is_local = lengths_.is_long(d);
    if (!run_.is_local) text(dims_.str(d));
  }
  void dims(std::span<const Dim> list) {
    number(list.size());
    for (Dim d : list) dim(d);
  }

  void node(NodeId id) {
    const Node& n = w_.graph.node(id);
    text(n.op->domain);
    text(n.op->name);
    add_attributes(h_, n);
    number(w_.needs.node(id) * 2u + w_.needs.reached(id));
    list(n.in);
    list(n.out);
    for (const Constraint& c : n.constraints) {
      dim(c.a), dim(c.b);
      text(c.what);
    }
    if (!w_.needs.node(id)) return;
    if (const auto& binding = fusion_.binding(id)) {
      text(str(binding->params));
      number(binding->strided * 2u + binding->in_place);
    }
    if (std::holds_alternative<View>(n.op->form)) views(id);
    if (const FusionGroup* g = fusion_.group(id)) group(*g, id);
  }

  void views(NodeId id) {
    const Node& n = w_.graph.node(id);
    if (is_object(w_.graph.type(n.in[0])) || has_unranked_operand(w_.graph, id)) return;
    for (const ViewMap& map : w_.needs.views(id)) {
      for (int part : {static_cast<int>(map.kind), map.source, map.fill, map.axis})
        number(static_cast<std::uint64_t>(part));
      dims(map.shape);
      for (const auto& a : map.axes) {
        dim(a.offset), dim(a.step);
        number(static_cast<std::uint64_t>(a.axis));
        number(static_cast<std::uint64_t>(a.edge));
      }
    }
  }

  void group(const FusionGroup& g, NodeId id) {
    number(g.members.size());
    if (g.members.back() != id) return;
    for (NodeId m : g.members) number(place_.at(m.id));
    list(g.inputs);
    list(g.outputs);
    value(g.tiles);
    number(g.product ? place_.at(g.product.id) : ~0u);
    dims(g.domain);
    kernel(*g.kernel);
  }

  void kernel(const FusedKernel& k) {
    if (k.producer) {
      text(str(k.producer->params));
      if (k.producer->prologue) kernel(*k.producer->prologue);
    }
    for (const FusedIns& ins : k.body) {
      const ScalarIns& s = ins.scalar;
      for (std::uint64_t part :
           {static_cast<std::uint64_t>(s.op), static_cast<std::uint64_t>(s.type), static_cast<std::uint64_t>(ins.row),
            std::uint64_t{s.a}, std::uint64_t{s.b}, std::uint64_t{s.c}, std::uint64_t{s.operand},
            std::bit_cast<std::uint64_t>(s.real), static_cast<std::uint64_t>(s.integer)}) {
        number(part);
      }
    }
    number(k.stores.size());
  }

  void list(std::span<const Value> values) {
    number(values.size());
    for (Value v : values) value(v);
  }

  void value(Value v) {
    if (!v) return number(~0u);
    const auto [at, is_new] = number_.try_emplace(v.id, static_cast<std::uint32_t>(run_.values.size()));
    number(at->second);
    if (!is_new) return;
    run_.values.push_back(v);
    for (const Type* t = &w_.graph.type(v); t != nullptr; t = t->item.get()) {
      number(static_cast<std::uint64_t>(t->kind));
      number(static_cast<std::uint64_t>(t->elem));
      number(t->ranked);
      dims(t->shape);
    }
    number(w_.needs.value(v));
    if (const auto* known = w_.graph.known_value(v)) dims(*known);
    if (const Constant* c = w_.graph.constant(v)) {
      if (c->tensor.bytes() < kSmallConstant) number(hash_of(c->tensor));
    } else if (w_.has_slot(v)) {
      slot(w_.slot_of(v));
    }
  }

  void slot(SlotId s) {
    const Storage& storage = w_.plan.storage(s);
    number(static_cast<std::uint64_t>(storage.place) * 2u + w_.spaced[w_.plan.slot(s).storage]);
    number(slots_.try_emplace(s.id, slots_.size()).first->second);
    number(storages_.try_emplace(w_.plan.slot(s).storage, storages_.size()).first->second);
    const Layout& layout = w_.layout(s);
    number(layout.contiguous);
    dims(layout.strides);
    dim(layout.offset);
  }

  void symbol(SymbolId s) {
    const Bounds b = w_.scope.symbol_bounds(s);
    number(static_cast<std::uint64_t>(b.min));
    number(static_cast<std::uint64_t>(b.max));
    number(w_.regs.is_bound(s) * 2u + w_.at_start(w_.scope.symbol_dim(s)));
  }

  const PlanWriter& w_;
  const Fusion& fusion_;
  DimText dims_;
  ExtentLengths lengths_;
  Hasher h_;
  NodeRun run_;
  std::unordered_map<std::uint32_t, std::uint32_t> number_;            // per value: in run_.values
  std::unordered_map<std::uint32_t, std::uint32_t> place_;             // per node: in run_.nodes
  std::unordered_map<std::uint32_t, std::uint64_t> slots_, storages_;  // of outside values, in order of first use
};

}  // namespace

NodeRun describe_run(const PlanWriter& writer, const Fusion& fusion, std::span<const NodeId> nodes) {
  return RunHasher(writer, fusion).run(nodes);
}

}  // namespace frazil
