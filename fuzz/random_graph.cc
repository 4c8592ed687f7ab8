#include "random_graph.h"

#include <numeric>
#include <set>
#include <unordered_map>

#include "draft.h"
#include "ops/core/registry.h"
#include "random_attr.h"
#include "random_value.h"
#include "sym/saturate.h"

namespace frazil::fuzz {
namespace {

constexpr int kAttempts = 12;
constexpr int kMaxDepth = 2;
constexpr std::int64_t kLargest = 65;      // of extents
constexpr std::int64_t kMaxConstant = 16;  // elements: larger ones do not stand in the text

const std::vector<const OpDef*>& operators(bool regions) {
  const auto those = [](bool wanted) {
    std::vector<const OpDef*> ops = OpRegistry::global().all();
    std::erase_if(ops, [&](const OpDef* op) { return std::holds_alternative<Region>(op->form) != wanted; });
    return ops;
  };
  static const auto plain = those(false), region = those(true);
  return regions ? region : plain;
}

bool is_integers(ElemSet set) { return set != 0 && (set & ~elems::kInt) == 0; }

/// One node while its operands are chosen.
struct Call {
  const OpDef* op = nullptr;
  std::vector<Value> in;
  std::unordered_map<std::string_view, Elem> bound;
  Attrs attrs;
};

class Generator {
 public:
  explicit Generator(Choices& choices) : c_(choices) {}

  std::expected<Case, Finding> run() {
    journal() = {.graph = &graph_, .stage = "building"};
    for (std::size_t n = 1 + c_.below(9); n > 0 && !finding_; --n) add_node(Graph::kMain, 0);
    if (finding_) return std::unexpected(*finding_);
    if (values_.empty()) values_.push_back(new_input(Type::tensor(Elem::f32)));
    choose_outputs();
    return finish();
  }

 private:
  // ---- nodes ----

  void add_node(BlockId block, int depth) {
    const bool region = depth < kMaxDepth && c_.chance(15);
    const OpDef& op = *c_.pick(operators(region));
    for (int k = 0; k < kAttempts && !finding_; ++k) {
      if (region ? try_region(op, block, depth) : try_plain(op, block)) return;
    }
  }

  /// A refusal is fine when it is one.
  bool refused(const Fault& fault) {
    const bool proper = (fault.code == Code::bad_model || fault.code == Code::unsupported || fault.code == Code::limit);
    if (!proper || fault.message.empty() || fault.message.contains('\n')) {
      finding_ = {fmt::format("the builder refuses with {}", name_of(fault.code)), fault.text()};
    }
    return false;
  }

  std::optional<Call> random_call(const OpDef& op) {
    Call call{.op = &op};
    for (const Port& port : op.inputs) {
      std::size_t count = 1;
      if (port.use == Port::Use::optional) count = c_.chance(50) ? 1 : 0;
      if (port.use == Port::Use::variadic) count = c_.weighted({1, 8, 8, 4});
      if (count == 0 && port.use == Port::Use::optional) call.in.emplace_back();
      for (; count > 0; --count) call.in.push_back(operand(port, call));
    }
    call.attrs = random_attrs(op, rank_of(call), c_);
    if (!call.attrs) return std::nullopt;
    journal().op = &op;
    journal().inputs = call.in;
    journal().attrs = call.attrs;
    return call;
  }

  std::vector<bool> wanted(const OpDef& op) {
    std::vector<bool> wanted;
    for (const Port& port : op.outputs) {
      if (port.use == Port::Use::variadic) wanted.resize(1 + c_.below(3), true);
      if (port.use != Port::Use::variadic) wanted.push_back(c_.chance(wanted.empty() ? 95 : 60));
    }
    while (!wanted.empty() && !wanted.back()) wanted.pop_back();
    if (wanted.empty()) wanted.push_back(true);
    return wanted;
  }

  bool try_plain(const OpDef& op, BlockId block) {
    auto call = random_call(op);
    if (!call) return false;
    Builder builder(graph_, block);
    auto node = builder.append(op, call->in, call->attrs, wanted(op), next_name());
    if (!node) return refused(node.error());
    take(graph_.node(*node).out);
    return true;
  }

  std::string next_name() { return fmt::format("n{}", named_++); }

  void take(const std::vector<Value>& made) {
    for (Value v : made) {
      if (v) values_.push_back(v);
    }
  }

  // ---- regions ----

  bool try_region(const OpDef& op, BlockId block, int depth) {
    const Graph before = graph_;
    const std::vector<Value> visible = values_;
    if (fill_region(op, block, depth)) return true;
    graph_ = before;
    values_ = visible;
    return false;
  }

  /// The operator says how many params its blocks have only by refusing others.
  Result<NodeId> open(const Call& call, BlockId block) {
    Builder builder(graph_, block);
    const std::size_t blocks = std::get<Region>(call.op->form).blocks;
    const std::string name = next_name();
    Result<NodeId> node = fail(Code::internal, "not tried");
    for (std::size_t params : {call.in.size(), std::size_t{0}, std::size_t{2}, call.in.size() + 1}) {
      node = builder.open(*call.op, call.in, call.attrs, std::vector(blocks, params), name);
      if (node) break;
    }
    return node;
  }

  bool fill_region(const OpDef& op, BlockId block, int depth) {
    auto call = random_call(op);
    if (!call) return false;
    const auto node = open(*call, block);
    if (!node) return refused(node.error());
    std::size_t outputs = 0;
    std::vector<Type> like;
    for (std::size_t k = 0; k < graph_.node(*node).blocks.size(); ++k) {
      outputs = fill_block(*node, k, depth, like);
      if (finding_) return false;
    }
    std::vector<bool> wanted;
    for (; outputs > 0; --outputs) wanted.push_back(c_.chance(90));
    const Status closed = Builder(graph_, block).close(*node, wanted);
    if (!closed) return refused(closed.error());
    take(graph_.node(*node).out);
    return true;
  }

  /// Gives the number of outputs that the results stand for.
  std::size_t fill_block(NodeId node, std::size_t index, int depth, std::vector<Type>& like) {
    const BlockId id = graph_.node(node).blocks[index];
    const std::vector<Value> outer = values_, params = graph_.block(id).params;
    take(params);
    for (std::size_t n = c_.below(4); n > 0 && !finding_; --n) add_node(id, depth + 1);
    // A count and a condition come first: the condition is a result as well, the count is not.
    const bool counts = params.size() > 1 && graph_.type(params[1]) == Type::tensor(Elem::boolean);
    if (index == 0) {
      for (std::size_t k = counts ? 1 : 0; k < params.size(); ++k) like.push_back(graph_.type(params[k]));
      for (std::size_t n = params.empty() ? 1 + c_.below(3) : c_.below(3); n > 0; --n) like.push_back(any_type());
      if (!counts && !params.empty() && c_.chance(70)) like.resize(1 + c_.below(like.size()), any_type());
    }
    std::vector<Value> results;
    if (counts && !like.empty() && c_.chance(50)) results.push_back(params[1]);
    for (std::size_t k = results.size(); k < like.size(); ++k) results.push_back(value_like(like[k]));
    Builder(graph_, id).yield(node, index, results);
    values_ = outer;
    return results.size() - (counts ? 1 : 0);
  }

  Type any_type() {
    if (!values_.empty() && c_.chance(80)) return graph_.type(values_[values_.size() - 1 - c_.below(values_.size())]);
    return Type::tensor(any_elem(elems::kTensor), random_shape({}));
  }

  Value value_like(const Type& type) {
    const bool same_rank = c_.chance(90);
    std::vector<Value> fits;
    for (Value v : values_) {
      const Type& t = graph_.type(v);
      if (t.kind != type.kind || t.elem != type.elem) continue;
      if (!same_rank || t.rank() == type.rank()) fits.push_back(v);
    }
    if (!fits.empty() && c_.chance(90)) return fits[fits.size() - 1 - c_.below(fits.size())];
    if (!type.is_tensor()) return new_input(any_object());
    Shape shape;
    for (Dim d : type.shape) shape.push_back(d.is_const() ? d : Dim(c_.between(1, 3)));
    return c_.chance(70) ? new_constant(type.elem, shape) : new_input(Type::tensor(type.elem, shape));
  }

  // ---- operands ----

  std::size_t rank_of(const Call& call) const {
    return call.in.empty() || !call.in[0] ? 1 : graph_.type(call.in[0]).rank();
  }

  Value operand(const Port& port, Call& call) {
    if (port.set == 0) return any_operand();
    const auto known = call.bound.find(port.var);
    const bool is_bound = !port.var.empty() && known != call.bound.end();
    const ElemSet set = is_bound ? one(known->second) : port.set;
    const bool control = port.var.empty() && is_integers(port.set);
    Value v;
    if (control && c_.chance(65)) {
      v = control_constant(any_elem(set), call);
    } else if (const auto fits = candidates(set, call); !fits.empty() && c_.chance(65)) {
      v = fits[fits.size() - 1 - c_.below(fits.size())];
    } else {
      v = new_operand(any_elem(set), random_shape(shapes_of(call)));
    }
    if (!port.var.empty()) call.bound.try_emplace(port.var, graph_.type(v).elem);
    return v;
  }

  Value new_operand(Elem elem, const Shape& shape) {
    if (c_.chance(25)) return new_constant(elem, shape);
    return new_input(c_.chance(2) ? Type::unranked(elem) : Type::tensor(elem, shape));
  }

  std::vector<Value> candidates(ElemSet set, const Call& call) {
    const bool same_rank = !call.in.empty() && c_.chance(50);
    std::vector<Value> fits;
    for (Value v : values_) {
      const Type& t = graph_.type(v);
      if (!t.is_tensor() || !contains(set, t.elem)) continue;
      if (!same_rank || t.rank() == rank_of(call)) fits.push_back(v);
    }
    return fits;
  }

  Value any_operand() {
    std::vector<Value> objects;
    for (Value v : values_) {
      if (!graph_.type(v).is_tensor()) objects.push_back(v);
    }
    if (!objects.empty() && c_.chance(60)) return c_.pick(objects);
    if (!values_.empty() && c_.chance(60)) return c_.pick(values_);
    if (c_.chance(60)) return new_input(any_object());
    return new_operand(any_elem(elems::kTensor), random_shape({}));
  }

  Type any_object() {
    const Type tensor = Type::tensor(any_elem(elems::kTensor), random_shape({}));
    switch (c_.weighted({60, 25, 15})) {
      case 0: return Type::sequence(tensor);
      case 1: return Type::optional(tensor);
      default: return Type::optional(Type::sequence(tensor));
    }
  }

  Elem any_elem(ElemSet set) {
    constexpr Elem kUsual[] = {Elem::f32, Elem::i64, Elem::f32, Elem::i32, Elem::f64, Elem::boolean, Elem::f16};
    const Elem usual = kUsual[c_.below(std::size(kUsual))];
    if (contains(set, usual) && c_.chance(70)) return usual;
    if (contains(set, Elem::f32) && c_.chance(30)) return Elem::f32;
    std::vector<Elem> all;
    for (int e = 0; e < kElemCount; ++e) {
      if (contains(set, static_cast<Elem>(e))) all.push_back(static_cast<Elem>(e));
    }
    return c_.pick(all);
  }

  // ---- shapes ----

  std::vector<Shape> shapes_of(const Call& call) const {
    std::vector<Shape> shapes;
    for (Value v : call.in) {
      if (v && graph_.type(v).is_tensor() && graph_.type(v).ranked) shapes.push_back(graph_.type(v).shape);
    }
    return shapes;
  }

  Shape random_shape(const std::vector<Shape>& known) {
    std::size_t rank = c_.weighted({2, 4, 5, 4, 4});
    if (!known.empty() && c_.chance(55)) rank = known[0].size();
    Shape shape(rank);
    const bool same = !known.empty() && c_.chance(20);
    for (std::size_t axis = 0; axis < rank; ++axis) shape[axis] = random_extent(known, axis, rank, same);
    return shape;
  }

  Dim random_extent(const std::vector<Shape>& known, std::size_t axis, std::size_t rank, bool same) {
    const Shape* first = known.empty() ? nullptr : &c_.pick(known);
    if (same) first = &known[0];
    const std::size_t kind = first ? c_.weighted({30, 10, 20, 10, 10, 10, 10}) : 4 + c_.weighted({15, 35, 40});
    switch (same ? 0 : kind) {
      case 0:  // as in the other operand, seen from the end
        if (axis + first->size() >= rank && axis + first->size() - rank < first->size()) {
          return usable((*first)[axis + first->size() - rank]);
        }
        return Dim(1);
      case 1: return axis < first->size() ? usable((*first)[axis]) : Dim(1);
      case 2: return first->empty() ? Dim(1) : usable(c_.pick(*first));
      case 3: return first->empty() ? Dim(2) : multiple(usable(c_.pick(*first)));
      case 4: return Dim(1);
      case 5: return Builder(graph_).dim(c_.pick({"N", "M", "K"}));
      default: return Dim(c_.chance(8) ? 0 : extent());
    }
  }

  /// Mostly few, sometimes more than a vector or a tile holds.
  std::int64_t extent() {
    return c_.chance(12) ? c_.pick<std::int64_t>({7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 63, 64, kLargest})
                         : c_.between(1, 5);
  }

  /// An input's extents must be known before the run.
  Dim usable(Dim d) {
    if (d.is_const()) return d.value() >= 0 && d.value() <= kLargest ? d : Dim(2);
    for (SymbolId s : graph_.scope().symbols_of(d)) {
      if (is_unbacked(graph_.scope(), s)) return Dim(c_.between(1, 3));
    }
    return graph_.scope().bounds(d).min >= 0 && graph_.scope().str(d).size() < 12 ? d : Dim(2);
  }
  Dim multiple(Dim d) { return Builder(graph_).scope().mul(d, Dim(c_.between(2, 4))); }

  // ---- new values ----

  Value new_input(Type type) {
    const Value v = Builder(graph_).input(fmt::format("x{}", graph_.input_names().size()), std::move(type)).value;
    values_.insert(values_.begin(), v);
    return v;
  }

  Value new_constant(Elem elem, const Shape& shape) {
    Sizes sizes;
    for (Dim d : shape) sizes.push_back(d.is_const() ? d.value() : 1);
    const auto at_least_one = [](std::int64_t product, std::int64_t size) {
      return sym::sat_mul(product, std::max<std::int64_t>(size, 1));
    };
    const auto count = [&] { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, at_least_one); };
    while (count() > kMaxConstant) *std::ranges::max_element(sizes) = 1;
    return Builder(graph_).constant(random_tensor(elem, std::move(sizes), random_look(c_), c_)).value;
  }

  /// Numbers that could be axes, extents, positions or counts.
  Value control_constant(Elem elem, const Call& call) {
    Ints values = random_ints(rank_of(call), c_);
    const auto shapes = shapes_of(call);
    if (!shapes.empty() && c_.chance(20)) {
      values.clear();
      for (Dim d : shapes[0]) values.push_back(d.is_const() ? d.value() : c_.between(-1, 2));
    }
    if (values.size() > static_cast<std::size_t>(kMaxConstant)) values.resize(kMaxConstant);
    Sizes sizes{static_cast<std::int64_t>(values.size())};
    if (values.empty() ? false : c_.chance(20)) sizes.clear();
    if (sizes.size() == 1 && c_.chance(5)) sizes.insert(sizes.begin(), 1);
    if (values.empty()) values.push_back(0);
    return Builder(graph_).constant(integer_tensor(elem, std::move(sizes), values)).value;
  }

  // ---- the end ----

  void choose_outputs() {
    Builder builder(graph_);
    const auto give = [&](Value v) { builder.output(fmt::format("y{}", graph_.output_names().size()), {&builder, v}); };
    const auto used = uses(draft_of(graph_));
    for (Value v : values_) {
      if (!used.contains(static_cast<int>(v.id)) && graph_.producer(v) && c_.chance(70)) give(v);
    }
    for (std::size_t n = c_.below(3); n > 0; --n) give(c_.pick(values_));
    if (graph_.output_names().empty()) give(values_.back());
  }

  /// Writes the graph anew without what is not used, and makes values for it.
  std::expected<Case, Finding> finish() {
    Draft draft = draft_of(graph_);
    prune(draft);
    const auto used = uses(draft);
    std::erase_if(draft.inputs, [&](const DraftInput& input) { return !used.contains(input.value); });
    for (std::size_t i = 0; i < draft.inputs.size(); ++i) draft.inputs[i].name = fmt::format("x{}", i);
    auto built = build(draft);
    if (!built) return std::unexpected(Finding{"a graph cannot be built again", built.error().text()});
    give_symbols(draft);
    if (auto given = build(draft); given && c_.chance(97)) built = std::move(given);
    Case made{.graph = std::move(*built)};
    made.isa = c_.pick(kernel::isas());
    if (c_.chance(50)) made.passes.off = static_cast<std::uint32_t>(c_.random());
    for (int k = 0; k < 2; ++k) made.runs.push_back(random_inputs(made.graph));
    return made;
  }

  /// Extents that no tensor input gives become numbers.
  void give_symbols(Draft& draft) {
    std::set<std::string> given;
    for (const DraftInput& input : draft.inputs) given.insert(input.type.dims.begin(), input.type.dims.end());
    for (DraftInput& input : draft.inputs) {
      for (DraftType* t = &input.type; t; t = t->item.empty() ? nullptr : t->item.data()) {
        for (std::string& d : t->dims) {
          const auto symbol = std::ranges::find_if(d, [](char c) { return std::isupper(c) != 0; });
          if (symbol != d.end() && !given.contains(std::string(1, *symbol))) d = "2";
        }
      }
    }
  }

  std::vector<Datum> random_inputs(const Graph& graph) {
    std::vector<std::int64_t> symbols;
    for (std::size_t s = 0; s < graph.scope().symbol_count(); ++s) {
      symbols.push_back(c_.chance(10) ? 0 : extent());
    }
    const auto extent_of = [&](Dim d) { return eval(graph.scope(), d, symbols).value_or(1); };
    std::vector<Datum> all;
    const Look usual = random_look(c_);
    for (Value v : graph.main().params) {
      const bool index = graph.type(v).is_tensor() && is_int(graph.type(v).elem) && c_.chance(60);
      const Look look = index ? Look::index : c_.chance(70) ? usual : random_look(c_);
      all.push_back(random_datum(graph.type(v), extent_of, look, c_));
    }
    return all;
  }

  Choices& c_;
  Graph graph_;
  int named_ = 0;
  std::vector<Value> values_;  ///< visible where a node is being added
  std::optional<Finding> finding_;
};

}  // namespace

std::expected<Case, Finding> random_case(Choices& choices) {
  link_operators();
  return Generator(choices).run();
}

Journal& journal() {
  static Journal journal;
  return journal;
}

}  // namespace frazil::fuzz
