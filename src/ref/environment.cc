#include "ref/environment.h"

namespace frazil::ref {
namespace {

/// Finds the values whose last use is each node. Only values that are read in their own block alone are released,
/// because values used in nested blocks may be read again.
std::vector<std::vector<Value>> last_uses(const Graph& graph) {
  constexpr std::uint32_t kNever = ~0u, kAlways = ~0u - 1;
  std::vector<std::uint32_t> last(graph.value_count(), kNever);
  for (std::uint32_t b = 0; b < graph.block_count(); ++b) {
    const Block& block = graph.block(BlockId{b});
    for (const NodeId id : block.nodes) {
      for (Value v : graph.node(id).out) {
        if (v && last[v.id] == kNever) last[v.id] = id.id;
      }
      for (Value v : graph.node(id).in) {
        if (!v || last[v.id] == kAlways) continue;
        last[v.id] = graph.block_of(v) == BlockId{b} ? id.id : kAlways;
      }
    }
    for (Value v : block.results) last[v.id] = kAlways;
  }
  std::vector<std::vector<Value>> dead_after(graph.node_count());
  for (std::uint32_t v = 0; v < last.size(); ++v) {
    if (last[v] < kAlways) dead_after[last[v]].push_back(Value{v});
  }
  return dead_after;
}

}  // namespace

Environment::Environment(const Graph& graph)
    : graph_(graph), symbols_(graph), values_(graph.value_count()), dead_after_(last_uses(graph)) {}

Datum Environment::value(Value v) const {
  if (!v) return Datum();
  const Constant* c = graph_.constant(v);
  return c ? Datum(c->tensor) : values_[v.id];
}

Status Environment::define(Value v, Datum datum, std::string_view who) {
  symbols_.bind_from(v, datum);
  if (const auto wrong = type_mismatch(graph_, symbols_, v, datum)) {
    const std::string& name = graph_.value_name(v);
    return fail(Code::internal, "{}{} {}", who, name.empty() ? "" : fmt::format(", value '{}'", name), *wrong);
  }
  values_[v.id] = std::move(datum);
  return {};
}

void Environment::bind_extents(Value param, const Tensor& tensor) {
  const Shape& shape = graph_.type(param).shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (const auto s = graph_.scope().as_symbol(shape[d])) symbols_.set(*s, tensor.sizes()[d]);
  }
}

Status Environment::check_constraints(NodeId id) {
  for (const Constraint& c : graph_.node(id).constraints) {
    const auto a = symbols_.eval(c.a, SymbolTable::ByZero::zero), b = symbols_.eval(c.b, SymbolTable::ByZero::zero);
    if (a && b && *a != *b) return fail_at(graph_.describe(id), Code::bad_input, "{}: {} is not {}", c.what, *a, *b);
  }
  return {};
}

void Environment::release(NodeId id) {
  for (Value v : dead_after_[id.id]) values_[v.id] = Datum();
}

}  // namespace frazil::ref
