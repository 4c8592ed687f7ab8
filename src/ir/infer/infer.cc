#include "ir/infer/infer.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/limits/load_scope.h"
#include "ir/edit/builder.h"
#include "ir/infer/inference.h"
#include "ir/infer/known_value.h"
#include "ir/infer/negative_extent.h"
#include "ir/op/axis.h"
#include "ir/op/max_axes.h"

namespace frazil {
namespace {

constexpr std::int64_t kMaxBackedElements = 1024;

const Port& port_at(std::span<const Port> ports, std::size_t i) { return ports[std::min(i, ports.size() - 1)]; }

std::string elem_names(ElemSet set) {
  std::string names;
  for (int e = 0; e < kElemCount; ++e) {
    if (contains(set, static_cast<Elem>(e))) {
      names += (names.empty() ? "" : ", ") + std::string(name_of(static_cast<Elem>(e)));
    }
  }
  return names;
}

/// Element types bound to port variables while a node is checked.
struct BoundElems {
  std::array<std::pair<std::string_view, Elem>, 8> of{};
  std::size_t count = 0;
  std::optional<Elem> find(std::string_view var) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (of[i].first == var) return of[i].second;
    }
    return std::nullopt;
  }
  void bind(std::string_view var, Elem e) {
    if (count < of.size()) of[count++] = {var, e};
  }
};

Status check_count(const NodeReader& cx) {
  const auto ports = cx.node().op->inputs;
  const bool variadic = !ports.empty() && ports.back().use == Port::Use::variadic;
  std::size_t needed = 0;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].use == Port::Use::required) needed = i + 1;
  }
  if (cx.input_count() > ports.size() && !variadic) {
    return cx.error("takes at most {} inputs, got {}", ports.size(), cx.input_count());
  }
  for (std::size_t i = 0; i < needed; ++i) {
    if (ports[i].use == Port::Use::required && !cx.has(i)) return cx.error("input '{}' is missing", ports[i].name);
  }
  for (std::size_t i = ports.size() - variadic; variadic && i < cx.input_count(); ++i) {
    if (!cx.has(i)) return cx.error("input {} ('{}') is missing", i, ports.back().name);
  }
  const auto outs = cx.node().op->outputs;
  const bool open = !outs.empty() && outs.back().use == Port::Use::variadic;
  if (cx.output_count() > outs.size() && !open) {
    return cx.error("has at most {} outputs, {} requested", outs.size(), cx.output_count());
  }
  return {};
}

Status check_input(const NodeReader& cx, std::size_t i, BoundElems& bound) {
  const Port& port = port_at(cx.node().op->inputs, i);
  if (port.set == 0) return {};
  const Type& type = cx.type(i);
  if (!type.is_tensor()) {
    return cx.error("input '{}': expected a tensor, got {}", port.name, cx.type_str(i));
  }
  if (!contains(port.set, type.elem)) {
    return cx.error("input '{}': expected {}, got {}", port.name, elem_names(port.set), cx.type_str(i));
  }
  if (port.var.empty()) return {};
  const auto known = bound.find(port.var);
  if (!known) bound.bind(port.var, type.elem);
  if (known && *known != type.elem) {
    return cx.error("input '{}': expected {}[...] as its other inputs of type {}, got {}", port.name, name_of(*known),
                    port.var, cx.type_str(i));
  }
  return {};
}

Result<BoundElems> check_ports(const NodeReader& cx) {
  FRAZIL_CHECK(check_count(cx));
  BoundElems bound;
  for (std::size_t i = 0; i < cx.input_count(); ++i) {
    if (cx.has(i)) FRAZIL_CHECK(check_input(cx, i, bound));
  }
  return bound;
}

Elem output_elem(const OpDef& op, std::size_t i, const BoundElems& bound) {
  const Port& port = port_at(op.outputs, i);
  if (const auto e = bound.find(port.var); e && !port.var.empty()) return *e;
  for (int e = 0; e < kElemCount; ++e) {
    if (contains(port.set, static_cast<Elem>(e))) return static_cast<Elem>(e);
  }
  return Elem::f32;
}

/// Returns the element types of the inputs that are given.
std::vector<Elem> input_elems(const NodeReader& cx) {
  std::vector<Elem> in;
  for (std::size_t k = 0; k < cx.input_count(); ++k) {
    if (cx.has(k)) in.push_back(cx.elem(k));
  }
  return in;
}

Elem result_elem(const NodeReader& cx, Elem (*result)(const void*, std::span<const Elem>), std::size_t i,
                 const BoundElems& bound) {
  if (result == nullptr || i > 0) return output_elem(*cx.node().op, i, bound);
  return result(cx.node().attrs.get(), input_elems(cx));
}

/// Returns true if the element type of output i follows from the ports and `result` alone.
bool determines_elem(const OpDef& op, Elem (*result)(const void*, std::span<const Elem>), std::size_t i,
                     const BoundElems& bound) {
  const Port& port = port_at(op.outputs, i);
  return (result != nullptr && i == 0) || std::has_single_bit(port.set) ||
         (!port.var.empty() && bound.find(port.var).has_value());
}

bool has_unranked(const NodeReader& cx) {
  for (std::size_t i = 0; i < cx.input_count(); ++i) {
    const Port& port = port_at(cx.node().op->inputs, i);
    const bool any = port.set == 0 || port.any_rank;
    if (cx.has(i) && !any && cx.type(i).is_tensor() && !cx.type(i).ranked) return true;
  }
  return false;
}

/// Returns true for operators on sequences and optionals, whose rules do not read ranks.
bool gives_any_value(const OpDef& op) {
  return std::ranges::any_of(op.outputs, [](const Port& p) { return p.set == 0; });
}

auto result_rule(const Form& form) -> Elem (*)(const void*, std::span<const Elem>) {
  if (const auto* e = std::get_if<Elementwise>(&form)) return e->result;
  if (const auto* c = std::get_if<Contraction>(&form)) return c->result;
  if (const auto* c = std::get_if<Composite>(&form)) return c->result;
  return nullptr;
}

class FormRule {
 public:
  FormRule(Graph& graph, InferCx& cx, const BoundElems& bound) : graph_(graph), cx_(cx), bound_(bound) {}

  Status operator()(const Elementwise& e) {
    const void* const attrs = cx_.node().attrs.get();
    Status good = e.check ? e.check(attrs) : Status{};
    if (good && e.fits) good = e.fits(attrs, input_elems(cx_));
    if (!good) return at_node(cx_.graph().describe(cx_.id()), std::move(good).error());
    std::optional<Shape> shape;
    for (std::size_t i = 0; i < cx_.input_count(); ++i) {
      if (!cx_.has(i)) continue;
      if (!shape) {
        shape = cx_.shape(i);
      } else {
        FRAZIL_TRY(shape, cx_.broadcast(*shape, cx_.shape(i)));
      }
    }
    cx_.out(0, Type::tensor(result_elem(cx_, e.result, 0, bound_), shape.value_or(Shape{})));
    if (auto known = known_elementwise(cx_)) cx_.out_known_value(0, std::move(*known));
    return {};
  }

  Status operator()(const Contraction& c) {
    Space space;
    FRAZIL_CHECK(c.space(cx_, space));
    Shape shape;
    for (int axis : space.write) shape.push_back(axis < 0 ? Dim(1) : space.axes[static_cast<std::size_t>(axis)].extent);
    for (std::size_t i = 0; i < cx_.output_count(); ++i) {
      if (cx_.wants(i)) cx_.out(i, Type::tensor(result_elem(cx_, c.result, i, bound_), shape));
    }
    cx_.out_space(std::move(space));
    return {};
  }

  Status operator()(const View& v) {
    std::vector<ViewMap> maps;
    FRAZIL_CHECK(v.maps(cx_, maps));
    for (std::size_t i = 0; i < cx_.output_count(); ++i) {
      if (!cx_.wants(i)) continue;
      cx_.out(i, Type::tensor(cx_.elem(static_cast<std::size_t>(maps[i].source)), maps[i].shape));
      if (auto known = known_view(cx_, maps[i])) cx_.out_known_value(i, std::move(*known));
    }
    cx_.out_views(std::move(maps));
    return {};
  }

  Status operator()(const Composite&) { return infer_composite(graph_, cx_); }
  Status operator()(const Opaque& o) { return o.types(cx_); }
  Status operator()(const Region&) {
    return fail_at(cx_.graph().describe(cx_.id()), Code::internal, "a region is inferred by its builder");
  }

 private:
  Graph& graph_;  ///< the graph in which a composite's body is expanded to infer its types
  InferCx& cx_;
  const BoundElems& bound_;
};

}  // namespace

Status check_inputs(Graph& graph, NodeId node) {
  const auto bound = check_ports(NodeReader(graph, node));
  return bound ? Status{} : std::unexpected(bound.error());
}

namespace {

/// Checks the ranks and extents of outputs. Negative pads and sizes may make an extent negative.
Status check_extents(InferCx& cx) {
  for (std::size_t i = 0; i < cx.output_count(); ++i) {
    if (!cx.wants(i)) continue;
    if (!cx.found_type(i)) return fail_at(cx.graph().describe(cx.id()), Code::internal, "no type for output {}", i);
    const Shape& shape = cx.found_type(i)->shape;
    if (shape.size() > kMaxAxes) {
      return fail_at(cx.graph().describe(cx.id()), Code::limit,
                     "output '{}' would have {} axes, at most {} are allowed", port_at(cx.node().op->outputs, i).name,
                     shape.size(), kMaxAxes);
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (!shape[axis].is_const() || shape[axis].value() >= 0) continue;
      return cx.error("{}", negative_extent(cx.graph(), cx.node().out[i], shape[axis].value(), axis));
    }
  }
  return {};
}

Status unranked_results(InferCx& cx, const BoundElems& bound) {
  const OpDef& op = *cx.node().op;
  for (std::size_t i = 0; i < cx.output_count(); ++i) {
    if (!cx.wants(i)) continue;
    if (!determines_elem(op, result_rule(op.form), i, bound)) {
      return cx.unsupported("it needs operands with a known number of axes");
    }
    cx.out(i, Type::unranked(result_elem(cx, result_rule(op.form), i, bound)));
  }
  return {};
}

Status apply_rule(Graph& graph, InferCx& cx, const BoundElems& bound) {
  if (has_unranked(cx) && !gives_any_value(*cx.node().op)) return unranked_results(cx, bound);
  const InferringNode inferring(graph, cx.id());
  const Status made = std::visit(FormRule(graph, cx, bound), cx.node().op->form);
  if (!made && inferring.is_open()) {
    cx.forget();
    return unranked_results(cx, bound);
  }
  FRAZIL_CHECK(made);
  return check_extents(cx);
}

}  // namespace

Status infer_node(Graph& graph, NodeId node) {
  FRAZIL_CHECK(check_load());
  InferCx cx(graph, node);
  auto bound = check_ports(cx);
  if (!bound) return std::unexpected(bound.error());
  const GraphWriter write(graph);
  write.forget(node);
  FRAZIL_CHECK(apply_rule(graph, cx, *bound));
  write.set(node, cx.take());
  return {};
}

std::string negative_extent(const Graph& graph, Value output, std::int64_t extent, std::size_t axis) {
  const Node& node = graph.node(*graph.producer(output));
  return fmt::format("output '{}' would have the negative extent {} along axis {}",
                     port_at(node.op->outputs, graph.def(output).index).name, extent, axis);
}

const Tensor* NodeReader::constant(std::size_t i) const {
  if (!has(i)) return nullptr;
  const Constant* c = read_.constant(node().in[i]);
  return c ? &c->tensor : nullptr;
}

const std::vector<Dim>* NodeReader::known_value(std::size_t i) const {
  return has(i) ? read_.known_value(node().in[i]) : nullptr;
}

Result<std::vector<Dim>> InferCx::ints(std::size_t i) {
  if (const auto* known = known_value(i)) return *known;
  FRAZIL_TRY(const std::int64_t count, assumed_count(i));
  return elements(i, count);
}

Result<std::vector<Dim>> InferCx::ints(std::size_t i, std::size_t count) {
  const Dim length = product(scope(), shape(i));
  if (known_value(i) != nullptr || length.is_const()) return ints(i);
  const auto wanted = static_cast<std::int64_t>(count);
  FRAZIL_CHECK(require_equal(length, wanted, fmt::format("length of input '{}'", port_name(i))));
  return elements(i, wanted);
}

Result<std::vector<Dim>> InferCx::elements(std::size_t i, std::int64_t count) {
  const Value v = node().in[i];
  if (const Tensor* t = constant(i)) {
    std::vector<Dim> dims;
    for (std::int64_t k = 0; k < t->count(); ++k) dims.emplace_back(t->integer_at(k));
    return dims;
  }
  if (count < 0 || count > kMaxBackedElements) {
    return unsupported("input '{}' has {} elements, at most {} are allowed", port_name(i), count, kMaxBackedElements);
  }
  return GraphWriter(graph_).name_elements(v, count, product(scope(), shape(i)).is_const());
}

std::string_view NodeReader::port_name(std::size_t i) const { return port_at(node().op->inputs, i).name; }

Result<Dim> InferCx::int_scalar(std::size_t i) {
  FRAZIL_TRY(const auto dims, ints(i, 1));
  if (dims.size() != 1) {
    return error("input '{}' must have one element, got {}", port_name(i), type_str(i));
  }
  return dims[0];
}

Result<int> NodeReader::axis(std::int64_t axis, std::size_t rank, std::string_view what) const {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) return error("{} {} is outside [{}, {})", what, axis, -r, r);
  return static_cast<int>(from_front(axis, rank));
}

Dim InferCx::data_extent(std::size_t, int, Bounds bounds) {
  return GraphWriter(graph_).unbacked(node().parent, bounds);
}

Result<Dim> InferCx::require_equal(Dim a, Dim b, std::string_view what) {
  switch (scope().equal(a, b)) {
    case Proof::yes: return a.is_const() ? a : b;
    case Proof::no: return error("{}: {} is not {}", what, scope().str(a), scope().str(b));
    case Proof::maybe: break;
  }
  found_.constraints.push_back({a, b, std::string(what)});
  return a.is_const() ? a : b;
}

namespace {

/// Broadcasts one axis. Returns nullopt if that is impossible.
std::optional<Dim> broadcast_dim(Scope& scope, Dim a, Dim b) {
  if (a.is_const() && b.is_const() && a != b && a != Dim(1) && b != Dim(1)) return std::nullopt;
  return scope.broadcast(a, b);
}

}  // namespace

Result<Shape> InferCx::broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const std::size_t skip = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const auto d = broadcast_dim(scope(), longer[skip + i], shorter[i]);
    if (!d) {
      return error("shapes {} and {} do not broadcast", str(Type::tensor(Elem::f32, a), scope()).substr(3),
                   str(Type::tensor(Elem::f32, b), scope()).substr(3));
    }
    out[skip + i] = *d;
  }
  return out;
}

void InferCx::out(std::size_t i, Type type) {
  if (wants(i)) found_.outputs[i].type = std::move(type);
}

void InferCx::out_known_value(std::size_t i, std::vector<Dim> known) {
  if (wants(i)) found_.outputs[i].known = std::move(known);
}

void InferCx::out_space(Space space) { found_.space = std::make_shared<const Space>(std::move(space)); }

void InferCx::out_views(std::vector<ViewMap> views) {
  found_.views = std::make_shared<const std::vector<ViewMap>>(std::move(views));
}

void InferCx::forget() {
  GraphWriter(graph_).forget(id());
  found_ = {};
  found_.outputs.resize(output_count());
}

void InferCx::add_constraints(std::vector<Constraint> constraints) {
  std::ranges::move(constraints, std::back_inserter(found_.constraints));
}

}  // namespace frazil
