#include "ir/builder.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "base/load_scope.h"
#include "ir/inference.h"
#include "ir/known_value.h"

namespace frazil {

const Type& Expr::type() const {
  static const Type none = Type::tensor(Elem::f32);
  return value ? builder->graph_.type(value) : none;
}

Value Builder::new_value(Type type, ValueDef def) {
  count_graph_bytes(sizeof(Graph::ValueData) + type.shape.size() * sizeof(Dim));
  graph_.values_.push_back({std::move(type), {}, def, std::nullopt});
  return {static_cast<std::uint32_t>(graph_.values_.size() - 1)};
}

Expr Builder::poison(Fault fault) {
  if (status_) status_ = std::unexpected(std::move(fault));
  return absent();
}

Expr Builder::input(std::string_view name, Type type, Tensor default_value) {
  Block& main = graph_.blocks_[0];
  const Value v =
      new_value(std::move(type), {ValueDef::Kind::param, 0, static_cast<std::uint32_t>(main.params.size())});
  main.params.push_back(v);
  graph_.input_names_.emplace_back(name);
  graph_.input_defaults_.push_back(std::move(default_value));
  name_value(v, name);
  return {this, v};
}

Expr Builder::constant(Tensor tensor, std::string_view name) {
  Shape shape(tensor.sizes().begin(), tensor.sizes().end());
  const Value v = new_value(Type::tensor(tensor.elem(), std::move(shape)),
                            {ValueDef::Kind::constant, static_cast<std::uint32_t>(graph_.constants_.size()), 0});
  graph_.values_[v.id].known = known_constant(tensor);
  count_graph_bytes(sizeof(Constant) + sizeof(std::int64_t) * tensor.rank() + name.size());
  graph_.constants_.push_back({std::move(tensor)});
  name_value(v, name);
  return {this, v};
}

Expr Builder::ints(std::span<const std::int64_t> values) {
  return constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

void Builder::output(std::string_view name, Expr value) {
  if (!value) return;
  graph_.blocks_[0].results.push_back(value.value);
  graph_.output_names_.emplace_back(name);
}

std::vector<Expr> Builder::add(const OpDef& op, std::span<const Expr> inputs, Attrs attrs, std::size_t outputs,
                               std::string_view name) {
  std::vector<Expr> nothing(outputs, absent());
  if (!status_) return nothing;
  std::vector<Value> in;
  for (const Expr& e : inputs) in.push_back(e.value);
  auto node = append(op, std::move(in), std::move(attrs), std::vector<bool>(outputs, true), std::string(name));
  if (!node) {
    poison(std::move(node).error());
    return nothing;
  }
  std::vector<Expr> results;
  for (Value v : graph_.node(*node).out) results.push_back({this, v});
  return results;
}

namespace {

/// A node without results yet. Trailing absent inputs are dropped.
Node make_node(const OpDef& op, std::vector<Value> inputs, Attrs attrs, BlockId parent, std::string name) {
  count_graph_node(sizeof(Node) + inputs.size() * sizeof(Value) + name.size());
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  Node node;
  node.op = &op;
  node.in = std::move(inputs);
  node.attrs = attrs ? std::move(attrs) : default_attrs(op);
  node.parent = parent;
  node.name = std::move(name);
  return node;
}

}  // namespace

/// Without types, and not in its block yet.
NodeId Builder::add_node(const OpDef& op, std::vector<Value> inputs, Attrs attrs, const std::vector<bool>& wanted,
                         std::string name) {
  const NodeId id{static_cast<std::uint32_t>(graph_.nodes_.size())};
  graph_.nodes_.push_back(make_node(op, std::move(inputs), std::move(attrs), block_, std::move(name)));
  graph_.nodes_.back().stable = graph_.next_stable_++;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Value v;
    if (wanted[i]) v = new_value({}, {ValueDef::Kind::node, id.id, static_cast<std::uint32_t>(i)});
    graph_.nodes_[id.id].out.push_back(v);
  }
  return id;
}

Result<NodeId> Builder::append(const OpDef& op, std::vector<Value> inputs, Attrs attrs, const std::vector<bool>& wanted,
                               std::string name) {
  const Mark before = mark();
  if (std::ranges::find(wanted, true) == wanted.end()) {
    return fail(Code::bad_model, "node '{}' ({}) has no output", name, op.name);
  }
  const NodeId id = add_node(op, std::move(inputs), std::move(attrs), wanted, std::move(name));
  if (Status s = infer_node(graph_, id); !s) {
    rollback(before);
    return std::unexpected(std::move(s).error());
  }
  graph_.blocks_[block_.id].nodes.push_back(id);
  return id;
}

Result<NodeId> Builder::open(const OpDef& op, std::vector<Value> inputs, Attrs attrs,
                             const std::vector<std::size_t>& params, std::string name) {
  FRAZIL_CHECK(check_load());
  const Mark before = mark();
  const NodeId id{static_cast<std::uint32_t>(graph_.nodes_.size())};
  graph_.nodes_.push_back(make_node(op, std::move(inputs), std::move(attrs), block_, std::move(name)));
  graph_.nodes_.back().stable = graph_.next_stable_++;
  for (std::size_t count : params) {
    const BlockId b{static_cast<std::uint32_t>(graph_.blocks_.size())};
    count_graph_bytes(sizeof(Block));
    graph_.blocks_.push_back({.parent = block_, .owner = id, .params = {}, .nodes = {}, .results = {}});
    for (std::size_t k = 0; k < count; ++k) {
      const Value v = new_value({}, {ValueDef::Kind::param, b.id, static_cast<std::uint32_t>(k)});
      graph_.blocks_[b.id].params.push_back(v);
    }
    graph_.nodes_[id.id].blocks.push_back(b);
  }
  Status status = Inference::check_inputs(graph_, id);
  for (std::size_t k = 0; k < params.size() && status; ++k) status = Inference::type_params(graph_, id, k);
  if (!status) {
    rollback(before);
    return std::unexpected(std::move(status).error());
  }
  return id;
}

void Builder::yield(NodeId region, std::size_t index, std::vector<Value> results) {
  graph_.blocks_[graph_.node(region).blocks[index].id].results = std::move(results);
}

Status Builder::close(NodeId region, const std::vector<bool>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Value v;
    if (wanted[i]) v = new_value({}, {ValueDef::Kind::node, region.id, static_cast<std::uint32_t>(i)});
    graph_.nodes_[region.id].out.push_back(v);
  }
  FRAZIL_CHECK(Inference::infer_region(graph_, region));
  graph_.blocks_[block_.id].nodes.push_back(region);
  return {};
}

Builder::Mark Builder::mark() const {
  return {graph_.values_.size(),
          graph_.nodes_.size(),
          graph_.blocks_.size(),
          graph_.constants_.size(),
          graph_.blocks_[block_.id].nodes.size(),
          graph_.scope().symbol_count()};
}

void Builder::rollback(const Mark& m) {
  graph_.blocks_[block_.id].nodes.resize(m.block_nodes);
  for (BlockId b = block_; b != Graph::kMain;) {  // a rewriter may have added to the blocks around this one
    b = graph_.blocks_[b.id].parent;
    auto& nodes = graph_.blocks_[b.id].nodes;
    while (!nodes.empty() && nodes.back().id >= m.nodes) nodes.pop_back();
  }
  graph_.values_.resize(m.values);
  graph_.nodes_.resize(m.nodes);
  graph_.blocks_.resize(m.blocks);
  graph_.constants_.resize(m.constants);
  std::erase_if(graph_.assumptions_, [&](const Assumption& a) { return a.node.id >= m.nodes; });
  for (auto s = static_cast<SymbolId>(m.symbols); s < graph_.scope().symbol_count(); ++s) {
    if (const auto o = graph_.origin(s); o && o->value.id >= m.values) graph_.origins_.erase(s);
    if (const auto e = graph_.extent_origin(s); e && e->value.id >= m.values) graph_.extent_origins_.erase(s);
    if (graph_.symbol_block(s).id >= m.blocks) graph_.symbol_blocks_.erase(s);
  }
}

namespace {

/// Integers saturate; NaN gives 0.
template <class T>
void store(Tensor& t, double value) {
  if constexpr (std::is_integral_v<T>) {
    constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
    const bool low = value <= static_cast<double>(kLeast), high = value >= static_cast<double>(kMost);
    *t.as_mutable<T>().data() = std::isnan(value) ? T{0} : low ? kLeast : high ? kMost : static_cast<T>(value);
  } else {
    *t.as_mutable<T>().data() = T(value);
  }
}

void store_number(Tensor& t, double value) {
  switch (t.elem()) {
    case Elem::f64: return store<double>(t, value);
    case Elem::f32: return store<float>(t, value);
    case Elem::boolean: return store<std::uint8_t>(t, value != 0);
    case Elem::i16: return store<std::int16_t>(t, value);
    case Elem::i32: return store<std::int32_t>(t, value);
    case Elem::i64: return store<std::int64_t>(t, value);
    case Elem::u16: return store<std::uint16_t>(t, value);
    case Elem::u32: return store<std::uint32_t>(t, value);
    case Elem::u64: return store<std::uint64_t>(t, value);
    case Elem::c64: return store<std::complex<float>>(t, value);
    case Elem::c128: return store<std::complex<double>>(t, value);
    case Elem::string: return;
    default: break;
  }
  if (is_unsigned_int(t.elem())) return store<std::uint8_t>(t, value);
  if (is_int(t.elem())) return store<std::int8_t>(t, value);
  const auto f = static_cast<float>(value);
  from_f32(t.elem(), &f, t.mutable_data(), 1);
}

}  // namespace

Expr CompositeCx::number(Elem elem, double value) {
  Tensor t = Tensor::make_or_throw(elem, {});
  store_number(t, value);
  return builder_.constant(std::move(t));
}

void CompositeCx::out(std::size_t i, Expr value) {
  if (results_.size() <= i) results_.resize(i + 1, builder_.absent());
  results_[i] = value;
}

Result<std::vector<Value>> expand(Builder& builder, const OpDef& op, std::span<const Value> inputs, const void* attrs,
                                  std::size_t outputs) {
  std::vector<Expr> in;
  for (Value v : inputs) in.push_back({&builder, v});
  CompositeCx cx(builder, std::move(in), attrs, outputs);
  std::get<Composite>(op.form).body(cx);
  FRAZIL_CHECK(cx.status());
  FRAZIL_CHECK(builder.status());
  std::vector<Value> results;
  for (std::size_t i = 0; i < outputs; ++i) {
    results.push_back(i < cx.results().size() ? cx.results()[i].value : Value{});
  }
  return results;
}

}  // namespace frazil
