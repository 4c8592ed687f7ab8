#include "ir/inference.h"

#include <algorithm>

namespace frazil {

Dim Inference::fresh(Graph& graph, BlockId block, Bounds bounds) {
  const Dim d = graph.scope_.fresh(bounds);
  graph.symbol_blocks_[*graph.scope_.as_symbol(d)] = block;
  return d;
}

Dim Inference::forced_symbol(Graph& graph, Value value, std::int64_t index) {
  const BlockId block = graph.block_of(value).value_or(Graph::kMain);
  const Dim d = fresh(graph, block, {Dim::kMin, Dim::kMax});
  graph.origins_[*graph.scope_.as_symbol(d)] = {value, index};
  return d;
}

void Inference::adopt(Graph& graph, SymbolId symbol, Value value, int axis) {
  if (!graph.scope_.is_fresh(symbol) || graph.origins_.contains(symbol)) return;
  graph.extent_origins_.try_emplace(symbol, Graph::ExtentOrigin{value, axis});
}

void Inference::reset_outputs(Graph& graph, NodeId id) {
  Node& node = graph.nodes_[id.id];
  node.constraints.clear();
  for (Value v : node.out) {
    if (v) graph.values_[v.id].content.reset();
  }
}

void Inference::set_param_type(Graph& graph, Value param, Type type) {
  graph.values_[param.id].type = std::move(type);
  graph.values_[param.id].content.reset();
}

Status Inference::type_params(Graph& graph, NodeId region, std::size_t index) {
  RegionCx cx(graph, region);
  const auto& rule = std::get<Region>(graph.node(region).op->form);
  FRAZIL_TRY(auto types, rule.params(cx, index));
  const auto& params = graph.block(graph.node(region).blocks[index]).params;
  if (types.size() != params.size()) {
    return cx.error("its body takes {} inputs, expected {}", params.size(), types.size());
  }
  for (std::size_t k = 0; k < params.size(); ++k) set_param_type(graph, params[k], std::move(types[k]));
  return {};
}

namespace {

/// One region whose bodies are being inferred: at node `node` of block `block`.
struct Frame {
  NodeId region;
  std::size_t block = 0, node = 0;
  bool keep_params = false;  ///< params are already typed (first entry, or widened)
};

/// Symbols of a body end with it: output extents that read one become extents of the output itself.
void own_output_symbols(RegionCx& cx) {
  const Graph& graph = cx.graph();
  auto is_inner = [&](SymbolId s) {
    for (BlockId b = cx.node().parent;; b = graph.block(b).parent) {
      if (b == graph.symbol_block(s)) return false;
      if (b == Graph::kMain) return true;
    }
  };
  for (std::size_t i = 0; i < cx.output_count(); ++i) {
    if (!cx.wants(i)) continue;
    Type type = graph.type(cx.node().out[i]);
    for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
      if (std::ranges::any_of(cx.scope().symbols_of(type.shape[axis]), is_inner)) {
        type.shape[axis] = cx.flow_extent(i, static_cast<int>(axis));
      }
    }
    cx.out(i, std::move(type));
  }
}

}  // namespace

Status Inference::infer_region(Graph& graph, NodeId region) {
  auto finish = [&](NodeId id, bool& again) -> Status {
    reset_outputs(graph, id);
    RegionCx cx(graph, id);
    FRAZIL_CHECK(std::get<Region>(graph.node(id).op->form).types(cx));
    again = cx.again;
    if (!again) own_output_symbols(cx);
    return {};
  };
  bool again = false;
  FRAZIL_CHECK(finish(region, again));
  if (!again) return {};
  std::vector<Frame> stack{{region, 0, 0, true}};
  while (!stack.empty()) {
    Frame& f = stack.back();
    const auto& blocks = graph.node(f.region).blocks;
    if (f.block == blocks.size()) {
      FRAZIL_CHECK(finish(f.region, again));
      if (again) {
        f = {f.region, 0, 0, true};
      } else {
        stack.pop_back();
      }
      continue;
    }
    if (f.node == 0 && !f.keep_params) FRAZIL_CHECK(type_params(graph, f.region, f.block));
    const auto& nodes = graph.block(blocks[f.block]).nodes;
    if (f.node == nodes.size()) {
      ++f.block;
      f.node = 0;
      continue;
    }
    const NodeId next = nodes[f.node++];
    if (std::holds_alternative<Region>(graph.node(next).op->form)) {
      stack.push_back({next});
    } else {
      FRAZIL_CHECK(infer_node(graph, next));
    }
  }
  return {};
}

void Inference::export_type(InferCx& cx, std::size_t output, const Type& inner, const std::vector<Dim>* content,
                            SymbolId first) {
  auto leaks = [&](Dim d) {
    const auto symbols = cx.scope().symbols_of(d);
    return !symbols.empty() && symbols.back() >= first;
  };
  Type type = inner;
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
    if (leaks(type.shape[axis])) {
      type.shape[axis] = cx.data_extent(output, static_cast<int>(axis), cx.scope().bounds(type.shape[axis]));
    }
  }
  cx.out(output, std::move(type));
  if (content && std::ranges::none_of(*content, leaks)) cx.out_content(output, *content);
}

Status infer_composite(InferCx& cx) {
  Graph& graph = cx.graph();
  const auto first = static_cast<SymbolId>(cx.scope().symbol_count());
  const Node node = cx.node();
  Builder builder(graph, node.parent);
  const Builder::Mark mark = builder.mark();
  auto results = expand(builder, *node.op, node.in, node.attrs.get(), node.out.size());
  if (!results) {
    builder.rollback(mark);
    return within(graph.describe(cx.id()) + ": ", std::move(results).error());
  }
  for (std::size_t i = 0; i < results->size(); ++i) {
    if (!(*results)[i]) continue;
    const Type type = graph.type((*results)[i]);
    const auto* content = graph.content((*results)[i]);
    Inference::export_type(cx, i, type, content, first);
  }
  builder.rollback(mark);
  return {};
}

namespace {

/// True when d is a fresh symbol that belongs to `block`: already as general as an extent can be.
bool is_own_symbol(const Graph& graph, Dim d, BlockId block) {
  const auto symbol = graph.scope().as_symbol(d);
  return symbol && graph.scope().is_fresh(*symbol) && graph.symbol_block(*symbol) == block;
}

/// The type that both fit. `block` owns new symbols; dims of `a` that it owns already stay.
Result<Type> merge(InferCx& cx, const Type& a, const Type& b, BlockId block, bool& changed) {
  if (a.kind != b.kind || a.elem != b.elem) {
    return cx.error("{} and {} do not agree", str(a, cx.scope()), str(b, cx.scope()));
  }
  Type out = a;
  if (a.item) {
    FRAZIL_TRY(Type item, merge(cx, *a.item, *b.item, block, changed));
    out.item = std::make_shared<const Type>(std::move(item));
    return out;
  }
  if (!a.ranked) return out;
  if (!b.ranked || a.rank() != b.rank()) {
    changed = true;
    return Type::unranked(a.elem);
  }
  for (std::size_t i = 0; i < a.rank(); ++i) {
    if (a.shape[i] == b.shape[i] || is_own_symbol(cx.graph(), a.shape[i], block)) continue;
    out.shape[i] = Inference::fresh(cx.graph(), block);
    changed = true;
  }
  return out;
}

}  // namespace

Result<bool> RegionCx::widen(std::size_t block_index, std::size_t k, const Type& type) {
  const BlockId block = node().blocks[block_index];
  const Value param = graph_.block(block).params[k];
  bool changed = false;
  const Type now = graph_.type(param);
  FRAZIL_TRY(Type wide, merge(*this, now, type, block, changed));
  if (!changed) return false;
  for (std::size_t i = 0; i < wide.shape.size(); ++i) {
    const auto symbol = scope().as_symbol(wide.shape[i]);
    if (symbol) Inference::adopt(graph_, *symbol, param, static_cast<int>(i));
  }
  Inference::set_param_type(graph_, param, std::move(wide));
  again = true;
  return true;
}

Result<Type> RegionCx::join(const Type& a, const Type& b) {
  bool changed = false;
  // Symbols of the bodies end with them: dims that differ become the node's own.
  return merge(*this, a, b, node().parent, changed);
}

Dim RegionCx::flow_extent(std::size_t, int) { return Inference::fresh(graph_, node().parent); }

}  // namespace frazil
