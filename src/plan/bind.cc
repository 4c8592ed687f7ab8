#include "plan/bind.h"

#include <algorithm>

#include "ir/infer.h"
#include "ir/op.h"
#include "kernel/tile.h"

namespace frazil {
namespace {

bool is_value_type(Elem e) { return e != Elem::string && !is_complex(e); }

/// True when every instruction of the tape has a tile primitive.
bool tile_serves(const ScalarTape& tape, std::size_t operands) {
  if (operands > kMaxTileOperands || tape.code.size() > kMaxTileInstructions || tape.code.empty()) return false;
  if (arity(tape.code.back().op) == 0) return tape.code.back().op == ScalarOp::load;
  for (const ScalarIns& ins : tape.code) {
    if (arity(ins.op) == 0) continue;
    const Elem operand = tape.code[ins.op == ScalarOp::select ? ins.b : ins.a].type;
    const auto fn = ins.op == ScalarOp::cast ? kernel::cast_fn(operand, ins.type) : kernel::tile_fn(ins.op, operand, 0);
    if (fn == nullptr) return false;
  }
  return true;
}

bool all_plain(const Graph& graph, const Node& node) {
  for (const auto* list : {&node.in, &node.out}) {
    for (Value v : *list) {
      if (!v) continue;
      const Type& t = graph.type(v);
      if (!t.is_tensor() || !t.ranked || !is_value_type(t.elem)) return false;
    }
  }
  return true;
}

std::optional<Binding> bind_elementwise(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!all_plain(graph, node) || std::ranges::any_of(node.in, [](Value v) { return !v; })) return std::nullopt;
  if (!tile_serves(tape_of(graph, id), node.in.size())) return std::nullopt;
  return Binding{Kernel::tile, true, true};
}

bool is_f32(const Graph& graph, Value v) {
  const Type& t = graph.type(v);
  return t.is_tensor() && t.ranked && t.elem == Elem::f32;
}

bool all_f32(const Graph& graph, const Node& node) {
  const auto f32 = [&](Value v) { return !v || is_f32(graph, v); };
  return std::ranges::all_of(node.in, f32) && std::ranges::all_of(node.out, f32);
}

/// Which kernel serves which operator when. The test suite holds each against the operator's own form.
struct Row {
  std::string_view op;
  Kernel kernel;
  bool (*when)(const Graph& graph, const Node& node);
  std::string_view domain = "";
};

constexpr Row kRows[] = {
    {"MatMul", Kernel::matmul, [](const Graph& g, const Node& n) { return all_f32(g, n); }},
};

}  // namespace

std::optional<Binding> bind(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  for (const Row& row : kRows) {
    if (row.op == node.op->name && row.domain == node.op->domain && all_plain(graph, node) && row.when(graph, node)) {
      return Binding{row.kernel, false, false};
    }
  }
  if (std::holds_alternative<Elementwise>(node.op->form)) return bind_elementwise(graph, id);
  if (std::holds_alternative<Opaque>(node.op->form)) return Binding{Kernel::opaque, false, false};
  return std::nullopt;
}

}  // namespace frazil
