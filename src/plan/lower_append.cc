#include <algorithm>
#include <unordered_set>

#include "ir/op.h"
#include "plan/lower.h"

namespace frazil {
namespace {

constexpr const char* kNotFirst = "it is not the first operand";
constexpr const char* kOtherAxes = "extents of other axes may change with it";
constexpr const char* kInBranch = "a branch makes it";
constexpr const char* kKnownLate = "its extents are known only when the run has begun";
constexpr const char* kTwice = "another output takes it";

/// Where a Concat has `from` among its operands; nothing for other nodes.
std::optional<std::size_t> place_in_concat(const Graph& graph, const Needs& needs, NodeId id, Value from) {
  const Node& node = graph.node(id);
  if (!std::holds_alternative<View>(node.op->form) || !needs.node(id) || has_unranked_operand(graph, id)) {
    return std::nullopt;
  }
  // The first operand says whether it is one: views have no maps for text.
  if (std::ranges::find(node.in, from) == node.in.end() || graph.type(node.in[0]).elem != graph.type(from).elem) {
    return std::nullopt;
  }
  const auto& maps = needs.views(id);
  if (maps.size() != 1 || maps[0].kind != ViewMap::Kind::concat) return std::nullopt;
  const auto first = node.in.begin() + maps[0].source;
  const auto at = std::find(first, node.in.end(), from);
  return at == node.in.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - first));
}

bool same_but(const Shape& a, const Shape& b, std::size_t axis) {
  if (a.size() != b.size()) return false;
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (d != axis && a[d] != b[d]) return false;
  }
  return true;
}

}  // namespace

/// What a loop carries, and what requests may.
void Lowering::find_appends() {
  if (!passes_.has(Pass::append)) return;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t n = 0; n < graph_.node_count(); ++n) {
    if (const auto at = prepared_.find(n); at != prepared_.end()) find_carried(at->second.first);
  }
  find_requested();
  append_time_ = std::chrono::steady_clock::now() - begin;
}

/// What a loop carries: params that its variables feed, and the results that become them.
void Lowering::find_carried(const Flow& flow) {
  std::vector<Value> params(flow.variables);
  for (const FlowOp& op : flow.ops) {
    if (op.kind != FlowOp::Kind::enter) continue;
    for (std::size_t k = 0; k < op.cells.size(); ++k) {
      if (op.cells[k].kind == Cell::Kind::variable) params[op.cells[k].index] = graph_.block(op.block).params[k];
    }
  }
  for (const FlowOp& op : flow.ops) {
    if (op.kind != FlowOp::Kind::set) continue;
    for (const auto& [variable, cell] : op.pairs) {
      if (cell.kind != Cell::Kind::result || !params[variable]) continue;
      find_append(params[variable], graph_.block(cell.block).results[cell.index], kNone);
    }
  }
}

/// What requests may carry: results that begin with an input.
void Lowering::find_requested() {
  std::unordered_set<std::uint32_t> inputs, seen;
  for (Value v : graph_.main().params) inputs.insert(v.id);
  const auto& results = graph_.main().results;
  for (std::uint32_t k = 0; k < results.size(); ++k) {
    const auto made = graph_.producer(results[k]);
    if (!made || !seen.insert(results[k].id).second) continue;
    std::vector<NodeId> makers{*made};
    for (const BlockId b : graph_.node(*made).blocks) {
      for (const Value v : graph_.block(b).results) {
        if (const auto inner = graph_.producer(v)) makers.push_back(*inner);
      }
    }
    std::unordered_set<std::uint32_t> tried;
    for (const NodeId maker : makers) {
      for (const Value v : graph_.node(maker).in) {
        if (inputs.contains(v.id) && tried.insert(v.id).second) find_append(v, results[k], k);
      }
    }
  }
}

void Lowering::find_append(Value from, Value to, std::uint32_t output) {
  const auto made = graph_.producer(to);
  const Type& type = graph_.type(from);
  if (!made || !needs_.value(to) || Needs::is_known(graph_, to) || is_object(type)) return;
  const auto refuse = [&](const char* why) { plan_.copied.push_back({*made, from, why}); };
  for (const BlockId b : graph_.node(*made).blocks) {
    for (const Value v : graph_.block(b).results) {
      const auto inner = graph_.producer(v);
      if (inner && place_in_concat(graph_, needs_, *inner, from)) return refuse(kInBranch);
    }
  }
  const auto place = place_in_concat(graph_, needs_, *made, from);
  if (!place) return;
  Append append{.node = *made, .from = from, .to = to, .output = output};
  append.axis = static_cast<std::size_t>(needs_.views(*made)[0].axis);
  if (*place != 0) return refuse(kNotFirst);
  if (!same_but(type.shape, graph_.type(to).shape, append.axis)) return refuse(kOtherAxes);
  if (type.shape[append.axis] == graph_.type(to).shape[append.axis]) return;
  if (appends_.contains(from.id)) return refuse(kTwice);
  if (output != kNone) {
    const auto& inputs = graph_.main().params;
    append.input = static_cast<std::uint32_t>(std::ranges::find(inputs, from) - inputs.begin());
    append.input_capacity = *scope_.as_symbol(scope_.fresh({0, Dim::kMax}));
  }
  append.capacity = *scope_.as_symbol(scope_.fresh({0, Dim::kMax}));
  appends_.emplace(from.id, append);
}

bool Lowering::all_bound(const Shape& shape, std::size_t but) const {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d == but || shape[d].is_const()) continue;
    if (!std::ranges::all_of(scope_.symbols_of(shape[d]), [&](SymbolId s) { return regs_->is_bound(s); })) return false;
  }
  return true;
}

/// Before anything reads it: its strides are worked out when the capacity changes, from extents that hold from here on.
void Lowering::open_append(Value from) {
  const auto at = appends_.find(from.id);
  if (at == appends_.end()) return;
  Append& append = at->second;
  const bool carried = append.input == kNone;
  if (!all_bound(graph_.type(append.to).shape, carried ? append.axis : ~std::size_t{0})) {
    plan_.copied.push_back({append.node, from, kKnownLate});
    appends_.erase(at);
    return;
  }
  append.open = true;
  regs_->bind(append.capacity, regs_->new_group());
  if (!carried) regs_->bind(append.input_capacity, 0);
}

const Lowering::Append* Lowering::append_of(Value from) const {
  const auto at = appends_.find(from.id);
  return at == appends_.end() || !at->second.open ? nullptr : &at->second;
}

/// Row-major with room for `capacity` along the axis.
Layout Lowering::spaced(const Shape& shape, const Append& append, SymbolId capacity) {
  Shape room = shape;
  room[append.axis] = scope_.symbol_dim(capacity);
  Layout layout = row_major(room);
  layout.shape = shape;
  return layout;
}

void Lowering::grow(std::uint32_t slot, Dim least, const Append& append, bool keep) {
  Step s;
  s.kind = Step::Kind::grow;
  s.in_place = keep;
  s.node = append.node;
  s.index = append.capacity;
  s.limit = regs_->reg(least);
  s.number = static_cast<std::int64_t>(append.axis);
  s.out = {slot};
  emit(std::move(s));
  eval_symbol(append.capacity);
}

std::uint32_t Lowering::growing_variable(Value param, const Append& append) {
  const Type& type = graph_.type(param);
  const std::uint32_t storage = new_storage(Place::growing);
  spaced_[storage] = true;
  const std::uint32_t made = new_slot(param, type, storage, spaced(type.shape, append, append.capacity));
  grow(made, type.shape[append.axis], append, false);
  return made;
}

/// False for a Concat that is an ordinary one.
bool Lowering::append(NodeId id, const ViewMap& map, Value out) {
  const Node& n = graph_.node(id);
  const Append* append = append_of(n.in[static_cast<std::size_t>(map.source)]);
  if (append == nullptr || append->node != id) return false;
  const std::uint32_t old = slot(append->from);
  const Type& type = graph_.type(out);
  const Layout whole = spaced(type.shape, *append, append->capacity);
  const auto part_at = [&](const Shape& shape, Dim at) {
    Layout part = whole;
    part.shape = shape;
    part.offset = scope_.mul(at, whole.strides[append->axis]);
    return part;
  };
  Dim at = layouts_[old].shape[append->axis];
  if (append->input == kNone) {
    grow(old, type.shape[append->axis], *append, true);
    slot_of_[out.id] = view_slot(old, out, whole);
  } else {
    const std::uint32_t storage = new_storage(Place::output, append->output);
    spaced_[storage] = true;
    const auto size = static_cast<std::int64_t>(byte_size(type.elem));
    plan_.storages[storage].bytes = regs_->reg(scope_.mul(scope_.product(type.shape), size));
    slot_of_[out.id] = new_slot(out, type, storage, whole);
    copy(old, view_slot(slot_of_[out.id], {}, part_at(layouts_[old].shape, 0)), id);
  }
  for (std::size_t i = static_cast<std::size_t>(map.source) + 1; i < n.in.size(); ++i) {
    const std::uint32_t from = slot(n.in[i]);
    copy(from, view_slot(slot_of_[out.id], {}, part_at(layouts_[from].shape, at)), id);
    at = scope_.add(at, layouts_[from].shape[append->axis]);
  }
  plan_.appends.push_back({.node = id,
                           .from = append->from,
                           .to = out,
                           .axis = static_cast<std::uint32_t>(append->axis),
                           .capacity = append->capacity,
                           .slot = slot_of_[out.id],
                           .input = append->input,
                           .output = append->output,
                           .input_capacity = append->input == kNone ? kNoReg : append->input_capacity});
  return true;
}

/// The fewest leading axes of both shapes that hold as many elements.
static std::optional<std::pair<std::size_t, std::size_t>> equal_run(Scope& scope, std::span<const Dim> a,
                                                                    std::span<const Dim> b) {
  for (std::size_t total = 1; total <= a.size() + b.size(); ++total) {
    for (std::size_t n = 0; n <= std::min(total, a.size()); ++n) {
      const std::size_t m = total - n;
      if (m <= b.size() && scope.product(a.first(n)) == scope.product(b.first(m))) return std::pair(n, m);
    }
  }
  return std::nullopt;
}

/// The layout of a value with room between its parts under other extents, where axes only fall apart or together that
/// lie without gaps.
std::optional<Layout> Lowering::regrouped(std::uint32_t slot, const Shape& shape) const {
  const Layout& from = layouts_[slot];
  if (!spaced_[plan_.slots[slot].storage]) return std::nullopt;
  Layout to{shape, std::vector<Dim>(shape.size(), Dim(0)), from.offset, false};
  std::size_t i = 0, j = 0;
  while (i < from.shape.size() || j < shape.size()) {
    const auto run = equal_run(scope_, std::span(from.shape).subspan(i), std::span(shape).subspan(j));
    if (!run) return std::nullopt;
    const std::size_t end_i = i + run->first, end_j = j + run->second;
    Dim stride = end_i > i ? from.strides[end_i - 1] : Dim(1);
    for (std::size_t k = end_i; k-- > i + 1;) {
      if (from.strides[k - 1] != scope_.mul(from.strides[k], from.shape[k])) return std::nullopt;
    }
    for (std::size_t k = end_j; k-- > j;) {
      to.strides[k] = stride;
      stride = scope_.mul(stride, shape[k]);
    }
    i = end_i, j = end_j;
  }
  return to;
}

}  // namespace frazil
