#include "plan/fuse.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "ir/infer.h"
#include "ir/op.h"
#include "kernel/reduce.h"

namespace frazil {

std::string_view text_of(Apart why) {
  constexpr std::string_view texts[] = {"their extents are not provably the same",
                                        "the value between them is rounded to a narrower type",
                                        "something between them uses what the first one gives",
                                        "together they need more operands or instructions than a step holds",
                                        "a step holds one product, and what works on its result",
                                        "rows of so few elements do not pay"};
  return texts[static_cast<std::size_t>(why)];
}

const FusionGroup* Fusion::group(NodeId n) const {
  const std::uint32_t g = group_of_[n.id];
  return g == kNone ? nullptr : &groups_[g];
}

namespace {

constexpr std::int64_t kShortRow = 8;
constexpr std::int64_t kNearWeight = std::int64_t{1} << 18;  ///< elements
constexpr std::int64_t kLongRow = 512;                       ///< for which a call of its own is no matter

/// How a node can take part in a group.
enum class Part : std::uint8_t { none, elementwise, row, product };

bool is_one(Dim d) { return d == Dim(1); }

/// True when a row of `space` gives one element of `shape`.
bool is_per_row(const Shape& shape, const Shape& space) {
  if (space.empty()) return false;
  const auto leading = std::span(space).first(space.size() - 1);
  if (std::ranges::all_of(leading, is_one)) return shape.size() <= space.size() && std::ranges::all_of(shape, is_one);
  return shape.size() == space.size() && is_one(shape.back()) &&
         std::ranges::equal(leading, std::span(shape).first(leading.size()));
}

static_assert(static_cast<int>(RowOp::sum) == static_cast<int>(kernel::Reduce::sum) + 1 &&
              static_cast<int>(RowOp::sum_abs) == static_cast<int>(kernel::Reduce::sum_abs) + 1);

bool is_product(Kernel kernel) { return kernel == Kernel::matmul || kernel == Kernel::gemm || kernel == Kernel::conv; }

RowOp row_op(const Binding& b) {
  switch (b.kernel) {
    case Kernel::reduce: return static_cast<RowOp>(b.ints[0] + 1);
    case Kernel::softmax: return b.ints[0] != 0 ? RowOp::log_softmax : RowOp::softmax;
    case Kernel::layer_norm: return RowOp::layer_norm;
    default: return RowOp::none;
  }
}

}  // namespace

/// A group while it grows.
struct Draft {
  std::vector<NodeId> members;
  Shape space;
  bool rows = false;
  NodeId product{};
  std::size_t instructions = 0;
  std::vector<Value> inputs;      ///< operands from outside, each once
  const Draft* before = nullptr;  ///< makes the product's first operand
  bool taken = false;             ///< is that of another
};

class Fuser {
 public:
  Fuser(const Graph& graph, const Needs& needs, Fusion& fusion) : graph_(graph), needs_(needs), fusion_(fusion) {
    fusion_.group_of_.assign(graph.node_count(), kNone);
    fusion_.bindings_.resize(graph.node_count());
    draft_of_.assign(graph.node_count(), kNone);
    position_.assign(graph.node_count(), 0);
  }

  void run(bool enabled) {
    find_uses();
    for (std::uint32_t b = 0; b < graph_.block_count(); ++b) {
      for (NodeId n : graph_.block(BlockId{b}).nodes) visit(n, enabled);
    }
    for (Draft& d : drafts_) {
      if (enabled && d.product) take_before(d);
    }
    for (const Draft& d : drafts_) finish(d);
    std::erase_if(fusion_.refusals_, [&](const Fusion::Refusal& r) {
      return draft_of_[r.node.id] == draft_of_[r.producer.id];  // they met by way of others
    });
  }

 private:
  struct Use {
    NodeId user;  ///< in the block of the value; none: the block's results
    std::uint32_t position;
  };

  void find_uses() {
    uses_.resize(graph_.value_count());
    for (std::uint32_t b = 0; b < graph_.block_count(); ++b) {
      const auto& nodes = graph_.block(BlockId{b}).nodes;
      for (std::uint32_t i = 0; i < nodes.size(); ++i) position_[nodes[i].id] = i;
    }
    for (std::uint32_t b = 0; b < graph_.block_count(); ++b) {
      const Block& block = graph_.block(BlockId{b});
      for (NodeId n : block.nodes) {
        if (!needs_.node(n)) continue;
        for (Value v : graph_.node(n).in) add_use(v, BlockId{b}, n);
      }
      for (Value v : block.results) add_use(v, BlockId{b}, NodeId{});
    }
  }

  /// Of an outer value, the region node in the value's own block counts as the user.
  void add_use(Value v, BlockId block, NodeId user) {
    if (!v) return;
    const auto home = graph_.block_of(v);
    if (!home) return;
    while (block != *home && block != Graph::kMain) {
      user = graph_.block(block).owner;
      block = graph_.block(block).parent;
    }
    uses_[v.id].push_back({user, user ? position_[user.id] : kNone});
  }

  const Shape& shape(Value v) const { return graph_.type(v).shape; }

  Part part_of(NodeId id) const {
    const Node& n = graph_.node(id);
    const auto& binding = fusion_.bindings_[id.id];
    if (!binding || n.out.empty() || !n.out[0]) return Part::none;
    if (binding->kernel == Kernel::tile) return Part::elementwise;
    if (is_product(binding->kernel)) return Part::product;
    return row_op(*binding) != RowOp::none && works_along_rows(n, *binding) ? Part::row : Part::none;
  }

  bool works_along_rows(const Node& n, const Binding& b) const {
    const auto rank = static_cast<std::int64_t>(shape(n.in[0]).size());
    if (std::ranges::count_if(n.out, [](Value v) { return bool(v); }) != 1 || rank == 0) return false;
    if (b.kernel == Kernel::softmax) return true;
    if (b.kernel == Kernel::layer_norm) return b.ints[0] == rank - 1;
    if (b.ints[1] + b.ints[2] != rank) return false;
    const auto folded = std::span(shape(n.in[0])).subspan(static_cast<std::size_t>(b.ints[1]));
    return std::ranges::all_of(folded.first(folded.size() - 1), is_one);
  }

  /// Operands of a node that the step reads: those of a fold do not include its axes.
  std::vector<Value> operands(NodeId id) const {
    const Node& n = graph_.node(id);
    if (fusion_.bindings_[id.id]->kernel == Kernel::reduce) return {n.in[0]};
    std::vector<Value> list;
    for (Value v : n.in) {
      if (v) list.push_back(v);
    }
    return list;
  }

  void visit(NodeId id, bool enabled) {
    const Form& form = graph_.node(id).op->form;
    if (!needs_.node(id) || std::holds_alternative<Region>(form) || std::holds_alternative<View>(form)) return;
    fusion_.bindings_[id.id] = bind(graph_, id);
    const Part part = part_of(id);
    if (part == Part::none) return;
    Draft d = single(id, part);
    if (enabled && part != Part::product && !feeds_extents(id)) {
      for (bool again = true; again;) again = absorb_producers(d, id);
    }
    for (NodeId m : d.members) draft_of_[m.id] = static_cast<std::uint32_t>(drafts_.size());
    drafts_.push_back(std::move(d));
  }

  /// Extents of other values are read from its result as soon as that is there.
  bool feeds_extents(NodeId id) const {
    const Node& n = graph_.node(id);
    return Needs::is_known(graph_, n.out[0]) || !needs_.bound_by(n.out[0]).empty() || defines_extents(graph_, n);
  }

  Draft single(NodeId id, Part part) {
    const Node& n = graph_.node(id);
    Draft d{.members = {id},
            .space = shape(part == Part::row ? n.in[0] : n.out[0]),
            .rows = part == Part::row,
            .product = part == Part::product ? id : NodeId{},
            .inputs = {}};
    if (part == Part::elementwise) tapes_.emplace(id.id, tape_of(graph_, id));
    d.instructions = part == Part::elementwise ? tapes_.at(id.id).code.size() : 1 + operands(id).size();
    for (Value v : operands(id)) {
      if (std::ranges::find(d.inputs, v) == d.inputs.end()) d.inputs.push_back(v);
    }
    return d;
  }

  bool absorb_producers(Draft& d, NodeId id) {
    bool changed = false;
    for (Value v : operands(id)) {
      const auto producer = graph_.producer(v);
      if (!producer || graph_.node(*producer).parent != graph_.node(id).parent) continue;
      const std::uint32_t p = draft_of_[producer->id];
      if (p == kNone || feeds_extents(*producer)) continue;
      if (std::ranges::find(d.inputs, v) == d.inputs.end()) continue;  // absorbed already
      if (const auto why = obstacle(drafts_[p], d, position_[id.id])) {
        refuse(id, *producer, *why);
        continue;
      }
      merge(drafts_[p], d);
      changed = true;
    }
    return changed;
  }

  /// What was said of the same two before stands at the end of the list.
  void refuse(NodeId node, NodeId producer, Apart why) {
    auto& all = fusion_.refusals_;
    for (auto r = all.rbegin(); r != all.rend() && r->node == node; ++r) {
      if (r->producer == producer) return;
    }
    all.push_back({node, producer, why});
  }

  /// The space of both together.
  static std::optional<Shape> common_space(const Draft& p, const Draft& d) {
    if (p.space == d.space) return d.space;
    if (p.rows && !d.rows && is_per_row(d.space, p.space)) return p.space;
    if (d.rows && !p.rows && is_per_row(p.space, d.space)) return d.space;
    return std::nullopt;
  }

  std::optional<Apart> obstacle(const Draft& p, const Draft& d, std::uint32_t end) const {
    const auto space = common_space(p, d);
    if (!space || (p.product && p.space != *space) || (d.product && d.space != *space)) return Apart::space;
    if ((p.product && d.product) || feeds_product(p, d) || feeds_product(d, p)) return Apart::products;
    for (Value v : d.inputs) {
      if (!is_made_by(p, v)) continue;
      if (shape(v) != *space && !is_per_row(shape(v), *space)) return Apart::space;
      if (compute_elem(graph_.type(v).elem) != graph_.type(v).elem) return Apart::rounding;
    }
    if ((p.rows || d.rows) && space->back().is_const() && space->back().value() < kShortRow) return Apart::short_row;
    if (!all_inside(p, d, end)) return Apart::order;
    return fits(p, d) ? std::nullopt : std::optional(Apart::size);
  }

  bool feeds_product(const Draft& p, const Draft& d) const {
    return d.product && std::ranges::any_of(operands(d.product), [&](Value v) { return is_made_by(p, v); });
  }

  /// True when nothing else uses what p gives before the group runs.
  bool all_inside(const Draft& p, const Draft& d, std::uint32_t end) const {
    const auto inside = [&](NodeId n) {
      return std::ranges::find(p.members, n) != p.members.end() || std::ranges::find(d.members, n) != d.members.end();
    };
    return std::ranges::all_of(p.members, [&](NodeId m) {
      return std::ranges::all_of(uses_[graph_.node(m).out[0].id],
                                 [&](const Use& u) { return u.position >= end || inside(u.user); });
    });
  }

  bool is_made_by(const Draft& p, Value v) const {
    const auto producer = graph_.producer(v);
    return producer && std::ranges::find(p.members, *producer) != p.members.end();
  }

  std::vector<Value> joint_inputs(const Draft& p, const Draft& d) const {
    std::vector<Value> inputs = p.inputs;
    for (Value v : d.inputs) {
      if (!is_made_by(p, v) && std::ranges::find(inputs, v) == inputs.end()) inputs.push_back(v);
    }
    return inputs;
  }

  bool fits(const Draft& p, const Draft& d) const {
    const std::size_t held = p.product || d.product ? 1 : 0;  // the product's result may be one more
    return p.instructions + d.instructions <= kMaxTileInstructions && joint_inputs(p, d).size() <= kMaxTileOperands &&
           output_count(p, d) + held <= kMaxTileResults;
  }

  std::size_t output_count(const Draft& p, const Draft& d) const {
    const auto inside = [&](const Use& u) {
      return u.user && (std::ranges::find(p.members, u.user) != p.members.end() ||
                        std::ranges::find(d.members, u.user) != d.members.end());
    };
    const auto is_output = [&](NodeId m) { return !std::ranges::all_of(uses_[graph_.node(m).out[0].id], inside); };
    return static_cast<std::size_t>(std::ranges::count_if(p.members, is_output) +
                                    std::ranges::count_if(d.members, is_output));
  }

  void merge(Draft& p, Draft& d) {
    d.space = *common_space(p, d);
    d.inputs = joint_inputs(p, d);
    d.rows |= p.rows;
    if (p.product) d.product = p.product;
    d.instructions += p.instructions;
    d.members.insert(d.members.begin(), p.members.begin(), p.members.end());
    std::ranges::sort(d.members, {}, [&](NodeId n) { return position_[n.id]; });
    p.members.clear();
  }

  bool is_output(const Draft& d, Value v) const {
    if (!needs_.bound_by(v).empty()) return true;
    return std::ranges::any_of(
        uses_[v.id], [&](const Use& u) { return !u.user || std::ranges::find(d.members, u.user) == d.members.end(); });
  }

  /// Where a product's weight stays in a cache while blocks of a few rows come by, what makes these rows need not go
  /// through memory: it runs block by block.
  void take_before(Draft& d) {
    const Node& n = graph_.node(d.product);
    const Binding& binding = *fusion_.bindings_[d.product.id];
    if (binding.kernel == Kernel::conv || (binding.kernel == Kernel::gemm && binding.ints[0] != 0)) return;
    const Constant* weight = graph_.constant(n.in[1]);
    if (weight == nullptr || weight->tensor.rank() != 2 || weight->tensor.count() > kNearWeight) return;
    const auto producer = graph_.producer(n.in[0]);
    if (!producer || draft_of_[producer->id] == kNone) return;
    Draft& maker = drafts_[draft_of_[producer->id]];
    if (maker.product || has_fast_kernel(maker) || !makes_only(maker, n.in[0], d.product)) return;
    maker.taken = true;
    d.before = &maker;
  }

  /// A row operator alone takes many short rows in one call.
  static bool has_fast_kernel(const Draft& d) {
    return d.rows && d.members.size() == 1 && d.space.back().is_const() && d.space.back().value() < kLongRow;
  }

  /// All elements of v are the one result of `maker`, and its one use is by `user`.
  bool makes_only(const Draft& maker, Value v, NodeId user) const {
    const bool one_use = uses_[v.id].size() == 1 && uses_[v.id][0].user == user;
    if (!one_use || maker.space.size() < 2 || shape(v) != maker.space) return false;
    return std::ranges::all_of(maker.members, [&](NodeId m) {
      const Value out = graph_.node(m).out[0];
      return !feeds_extents(m) && (out == v || !is_output(maker, out));
    });
  }

  /// A row operator or a product alone keeps its own kernel.
  void finish(const Draft& d) {
    const bool alone = d.members.size() == 1 && (d.rows || d.product) && d.before == nullptr;
    if (d.members.empty() || d.taken || alone) return;
    FusionGroup g = group_of(d);
    if (d.before != nullptr) {
      g.before = std::make_unique<const FusionGroup>(group_of(*d.before));
      g.members.insert(g.members.end(), d.before->members.begin(), d.before->members.end());
      std::ranges::sort(g.members, {}, [&](NodeId n) { return position_[n.id]; });
    }
    for (NodeId n : g.members) fusion_.group_of_[n.id] = static_cast<std::uint32_t>(fusion_.groups_.size());
    fusion_.groups_.push_back(std::move(g));
  }

  FusionGroup group_of(const Draft& d) {
    FusionGroup g;
    g.members = d.members;
    g.space = d.space;
    g.product = d.product;
    hidden_.clear();
    if (g.product) g.inputs.push_back(given_by_product(d, g));
    write(d, g);
    if (g.product) place_product(g);
    return g;
  }

  /// What the product's kernel gives: its result, or that of the members that follow and need no instructions.
  Value given_by_product(const Draft& d, FusionGroup& g) {
    const Kernel kernel = fusion_.bindings_[d.product.id]->kernel;
    Value given = graph_.node(d.product).out[0];
    const auto take = [&](NodeId member) {
      hidden_.push_back(given);
      given = graph_.node(member).out[0];
    };
    if (kernel == Kernel::matmul && shape(graph_.node(d.product).in[1]).size() > 1) {
      if (const auto sum = only_user(d, given); sum && is_row_added(d, *sum, given)) {
        g.bias = other_operand(*sum, given);
        take(*sum);
      }
    }
    if (kernel == Kernel::conv) return given;
    if (const auto user = only_user(d, given)) {
      g.slope = slope_of(*user);
      if (g.slope != 1) take(*user);
    }
    return given;
  }

  /// The elementwise member that uses v, where nobody else does.
  std::optional<NodeId> only_user(const Draft& d, Value v) const {
    if (uses_[v.id].size() != 1 || !needs_.bound_by(v).empty()) return std::nullopt;
    const NodeId user = uses_[v.id][0].user;
    const bool inside = user && std::ranges::find(d.members, user) != d.members.end() && tapes_.contains(user.id);
    return inside && graph_.type(graph_.node(user).out[0]) == graph_.type(v) ? std::optional(user) : std::nullopt;
  }

  bool is_row_added(const Draft& d, NodeId sum, Value v) const {
    const ScalarTape& tape = tapes_.at(sum.id);
    if (tape.code.size() != 3 || tape.code.back().op != ScalarOp::add) return false;
    const Value row = other_operand(sum, v);
    const Shape& extents = shape(row);
    return !is_made_by(d, row) && !extents.empty() && extents.back() == d.space.back() &&
           std::ranges::all_of(std::span(extents).first(extents.size() - 1), is_one);
  }

  /// s of max(x, s * x) with 0 < s < 1, 0 of max(x, 0), 1 of anything else.
  float slope_of(NodeId id) const {
    const auto& code = tapes_.at(id.id).code;
    if (code.back().op != ScalarOp::max || code[code.back().a].op != ScalarOp::load) return 1;
    const ScalarIns& other = code[code.back().b];
    if (other.op == ScalarOp::constant) return other.real == 0 && !std::signbit(other.real) ? 0.F : 1.F;
    if (other.op != ScalarOp::mul || other.b != code.back().a || code[other.a].op != ScalarOp::constant) return 1;
    const auto slope = static_cast<float>(code[other.a].real);
    return slope > 0 && slope < 1 ? slope : 1;
  }

  Value other_operand(NodeId sum, Value v) const {
    const auto& in = graph_.node(sum).in;
    return in[0] == v ? in[1] : in[0];
  }

  void write(const Draft& d, FusionGroup& g) {
    ProgramBuilder builder;
    at_.clear();
    std::vector<std::uint32_t> results;
    std::vector<bool> lacks_last;
    for (NodeId m : d.members) {
      const Value out = graph_.node(m).out[0];
      if (std::ranges::find(hidden_, out) != hidden_.end()) continue;
      const bool is_given = g.product && out == g.inputs[0];
      const std::uint32_t made = is_given ? operand(out, g, builder) : instructions(m, g, builder);
      at_[out.id] = made;
      if (!is_output(d, out)) continue;
      g.outputs.push_back(out);
      results.push_back(made);
      lacks_last.push_back(shape(out).size() < d.space.size());
    }
    g.program = std::move(builder).finish(std::move(results), std::move(lacks_last));
  }

  /// Where the product's result goes: an output that is it or that may take its place, or else one more.
  void place_product(FusionGroup& g) const {
    const Value made = g.inputs[0];
    const std::uint32_t load = load_of(g.program, 0);
    for (g.base = 0; g.base < g.outputs.size(); ++g.base) {
      const Value out = g.outputs[g.base];
      if (out == made) return;
      const bool same = shape(out) == g.space && graph_.type(out).elem == graph_.type(made).elem;
      if (same && !is_output_of(g, made) && last_use(g.program, load) <= g.program.results[g.base]) return;
    }
    g.outputs.push_back(made);
    g.program.results.push_back(load);
    g.program.lacks_last.push_back(false);
  }

  static bool is_output_of(const FusionGroup& g, Value v) { return std::ranges::find(g.outputs, v) != g.outputs.end(); }

  std::uint32_t instructions(NodeId m, FusionGroup& g, ProgramBuilder& builder) {
    const Node& n = graph_.node(m);
    const Binding& binding = *fusion_.bindings_[m.id];
    std::vector<std::uint32_t> in;
    for (Value v : operands(m)) in.push_back(operand(v, g, builder));
    const RowOp op = row_op(binding);
    if (op == RowOp::none) return builder.inline_tape(tapes_.at(m.id), in);
    const bool biased = op == RowOp::layer_norm && in.size() > 2;
    const std::uint32_t b = in.size() > 1 ? in[1] : 0, c = in.size() > 2 ? in[2] : 0;
    return builder.row(biased ? RowOp::layer_norm_bias : op, graph_.type(n.out[0]).elem, in[0], b, c,
                       binding.reals.empty() ? 0 : binding.reals[0]);
  }

  std::uint32_t operand(Value v, FusionGroup& g, ProgramBuilder& builder) {
    if (const auto it = at_.find(v.id); it != at_.end()) return it->second;
    if (const auto made = small_constant(v, builder)) return *made;
    const auto it = std::ranges::find(g.inputs, v);
    const auto k = static_cast<std::uint32_t>(it - g.inputs.begin());
    if (it == g.inputs.end()) g.inputs.push_back(v);
    return builder.load(k, compute_elem(graph_.type(v).elem));
  }

  /// One element of a constant becomes a part of the program.
  std::optional<std::uint32_t> small_constant(Value v, ProgramBuilder& builder) const {
    const Constant* c = graph_.constant(v);
    if (c == nullptr || c->tensor.count() != 1) return std::nullopt;
    switch (graph_.type(v).elem) {
      case Elem::f32: return builder.constant(Elem::f32, read<float>(*c), 0);
      case Elem::f64: return builder.constant(Elem::f64, read<double>(*c), 0);
      case Elem::i32: return builder.constant(Elem::i32, 0, read<std::int32_t>(*c));
      case Elem::i64: return builder.constant(Elem::i64, 0, read<std::int64_t>(*c));
      default: return std::nullopt;
    }
  }

  template <class T>
  static T read(const Constant& c) {
    T value;
    std::memcpy(&value, c.tensor.data(), sizeof value);
    return value;
  }

  const Graph& graph_;
  const Needs& needs_;
  Fusion& fusion_;
  std::vector<Draft> drafts_;
  std::vector<std::uint32_t> draft_of_;                  // per node
  std::vector<std::uint32_t> position_;                  // per node, in its block
  std::vector<std::vector<Use>> uses_;                   // per value
  std::unordered_map<std::uint32_t, ScalarTape> tapes_;  // per elementwise node
  std::unordered_map<std::uint32_t, std::uint32_t> at_;  // of the program being written: instructions of values
  std::vector<Value> hidden_;                            // of the same: what only the product's kernel sees
};

Fusion Fusion::of(const Graph& graph, const Needs& needs, bool enabled) {
  Fusion fusion;
  Fuser(graph, needs, fusion).run(enabled);
  return fusion;
}

}  // namespace frazil
