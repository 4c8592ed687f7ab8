#include "ir/infer/inference.h"

#include <algorithm>

#include "base/limits/load_scope.h"
#include "ir/edit/builder.h"

namespace frazil {

Status type_params(Graph& graph, NodeId region, std::size_t index) {
  RegionCx cx(graph, region);
  const auto& rule = std::get<Region>(graph.node(region).op->form);
  FRAZIL_TRY(auto types, rule.params(cx, index));
  const auto& params = graph.block(graph.node(region).blocks[index]).params;
  if (types.size() != params.size()) {
    return cx.error("its body takes {} inputs, expected {}", params.size(), types.size());
  }
  for (std::size_t k = 0; k < params.size(); ++k) GraphWriter(graph).set_type(params[k], std::move(types[k]));
  return {};
}

namespace {

/// A region whose bodies are being inferred, at node `node` of block `block`.
struct Frame {
  NodeId region;
  std::size_t block = 0, node = 0;
  bool keep_params = false;  ///< params are already typed (first entry, or widened)
};

/// Replaces output extents that read a symbol of a body by new symbols of that output: symbols of a body are not valid
/// outside of it.
void own_output_symbols(RegionCx& cx) {
  const Graph& graph = cx.graph();
  // The region's first block has the lowest id of the blocks inside of the region. No block outside of it that is
  // visible from it has a higher id.
  const std::uint32_t first = cx.node().blocks[0].id;
  auto is_inner = [&](SymbolId s) { return graph.symbol_block(s).id >= first; };
  for (std::size_t i = 0; i < cx.output_count(); ++i) {
    if (!cx.found_type(i)) continue;
    Type type = *cx.found_type(i);
    for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
      if (std::ranges::any_of(cx.scope().symbols_of(type.shape[axis]), is_inner)) {
        type.shape[axis] = cx.flow_extent(i, static_cast<int>(axis));
      }
    }
    cx.out(i, std::move(type));
  }
}

}  // namespace

namespace {

/// Returns true if d is an unbacked symbol of `block`, which cannot become more general.
bool is_own_symbol(const Graph& graph, Dim d, BlockId block) {
  const auto symbol = graph.scope().as_symbol(d);
  return symbol && is_unbacked(graph.scope(), *symbol) && graph.symbol_block(*symbol) == block;
}

/// Returns `type` with the extents that were widened in `wide`; all of `wide` if it has no rank.
Type as_wide(const Graph& graph, Type type, const Type& wide, BlockId block) {
  if (type.kind != wide.kind || type.elem != wide.elem) return type;
  if (type.item) {
    type.item = std::make_shared<const Type>(as_wide(graph, *type.item, *wide.item, block));
    return type;
  }
  if (!wide.ranked) return wide;
  if (!type.ranked || type.rank() != wide.rank()) return type;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    if (is_own_symbol(graph, wide.shape[i], block)) type.shape[i] = wide.shape[i];
  }
  return type;
}

/// Types the params of a region that is inferred again. Widened params stay widened, since the types around the region
/// have only become more general. Otherwise, nested loops would be typed twice as often at each level.
Status retype_params(Graph& graph, NodeId region, std::size_t index) {
  const BlockId block = graph.node(region).blocks[index];
  const std::vector<Value>& params = graph.block(block).params;
  std::vector<Type> before;
  for (const Value v : params) before.push_back(graph.type(v));
  FRAZIL_CHECK(type_params(graph, region, index));
  for (std::size_t k = 0; k < params.size(); ++k) {
    Type type = as_wide(graph, graph.type(params[k]), before[k], block);
    if (type != graph.type(params[k])) GraphWriter(graph).set_type(params[k], std::move(type));
  }
  return {};
}

}  // namespace

Status infer_region(Graph& graph, NodeId region) {
  auto finish = [&](NodeId id, bool& again) -> Status {
    const GraphWriter write(graph);
    write.forget(id);
    RegionCx cx(graph, id);
    FRAZIL_CHECK(std::get<Region>(graph.node(id).op->form).types(cx));
    again = cx.widens();
    if (!again) own_output_symbols(cx);
    write.set(id, cx.take());
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
    if (f.node == 0 && !f.keep_params) FRAZIL_CHECK(retype_params(graph, f.region, f.block));
    const auto& nodes = graph.block(blocks[f.block]).nodes;
    if (f.node == nodes.size()) {
      ++f.block;
      f.node = 0;
      continue;
    }
    const NodeId next = nodes[f.node++];
    FRAZIL_CHECK(check_retyping());
    if (std::holds_alternative<Region>(graph.node(next).op->form)) {
      stack.push_back({next});
    } else {
      FRAZIL_CHECK(infer_node(graph, next));
    }
  }
  return {};
}

namespace {

/// Joins two types. Widening stops at the block's own symbols, which are as general as an extent can be. Joins of two
/// values have no such rule.
struct Merge {
  InferCx& cx;
  GraphWriter graph;
  BlockId owner;  ///< of new symbols
  bool keep_own;
  bool changed = false;

  Dim extent(Dim a, Dim b) {
    if (a == b || (keep_own && is_own_symbol(cx.graph(), a, owner))) return a;
    changed = true;
    return graph.unbacked(owner);
  }

  Result<Type> item(const Type& a, const Type& b) {
    FRAZIL_TRY(Type merged, type(*a.item, b));
    const bool nests = merged.kind == Type::Kind::optional && a.item->kind != Type::Kind::optional;
    if (nests && a.kind == Type::Kind::optional) {
      return cx.error("{} and {} would make an optional of an optional", str(a, cx.scope()), str(b, cx.scope()));
    }
    Type out = a;
    out.item = std::make_shared<const Type>(std::move(merged));
    return out;
  }

  Result<Type> type(const Type& a, const Type& b) {
    // A value and an optional join to an optional that holds the value.
    if (a.kind == Type::Kind::optional && b.kind != a.kind) return item(a, b);
    if (b.kind == Type::Kind::optional && a.kind != b.kind) {
      changed = true;
      return item(Type::optional(a), *b.item);
    }
    if (a.kind != b.kind || a.elem != b.elem) {
      return cx.error("{} and {} do not agree", str(a, cx.scope()), str(b, cx.scope()));
    }
    if (a.item) return item(a, *b.item);
    if (!a.ranked) return a;
    if (!b.ranked || a.rank() != b.rank()) {
      changed = true;
      return Type::unranked(a.elem);
    }
    Type out = a;
    for (std::size_t i = 0; i < a.rank(); ++i) out.shape[i] = extent(a.shape[i], b.shape[i]);
    return out;
  }
};

}  // namespace

const Type& RegionCx::type_now(Value v) const {
  const auto wide = found_.params.find(v);
  return wide == found_.params.end() ? graph_.type(v) : wide->second;
}

Result<bool> RegionCx::widen(std::size_t block_index, std::size_t k, const Type& type) {
  const BlockId block = node().blocks[block_index];
  Merge merge{*this, GraphWriter(graph_), block, true};
  FRAZIL_TRY(Type wide, merge.type(param_type(block_index, k), type));
  if (merge.changed) found_.params[graph_.block(block).params[k]] = std::move(wide);
  return merge.changed;
}

Result<Type> RegionCx::join(const Type& a, const Type& b) {
  return Merge{*this, GraphWriter(graph_), node().parent, false}.type(a, b);
}

Dim RegionCx::flow_extent(std::size_t, int) { return GraphWriter(graph_).unbacked(node().parent); }

}  // namespace frazil
