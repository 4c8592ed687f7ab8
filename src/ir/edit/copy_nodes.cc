#include "ir/edit/copy_nodes.h"

namespace frazil {

Value NodeCopier::now(Value from) {
  if (!from) return {};
  if (const auto at = now_.find(from.id); at != now_.end()) return at->second;
  if (outer_) return outer_(from);
  Builder main(to_);
  return now_[from.id] = main.constant(from_.constant(from)->tensor, from_.value_name(from)).value;
}

std::vector<Value> NodeCopier::now(const std::vector<Value>& from) {
  std::vector<Value> mapped;
  for (const Value v : from) mapped.push_back(now(v));
  return mapped;
}

std::optional<Type> NodeCopier::type_of(Value from, Builder& to) const {
  const Type& type = from_.type(from);
  if (!type.is_tensor() || !type.ranked) return std::nullopt;
  Shape shape;
  for (const Dim dim : type.shape) {
    const auto symbol = from_.scope().as_symbol(dim);
    if (!dim.is_const() && !symbol) return std::nullopt;
    shape.push_back(dim.is_const() ? dim
                                   : to.dim(from_.scope().symbol_name(*symbol), symbol_bounds(from_.scope(), *symbol)));
  }
  return Type::tensor(type.elem, std::move(shape));
}

/// A region whose bodies are being copied, at node `next` of body `index`.
struct NodeCopier::Open {
  NodeId from, made;
  std::size_t index = 0, next = 0;
};

Status NodeCopier::copy(NodeId id, Builder& to, std::string_view name) {
  std::vector<Open> open;
  FRAZIL_CHECK(begin(id, to, name, open));
  while (!open.empty()) {
    Open& region = open.back();
    const Node& node = from_.node(region.from);
    const Block& body = from_.block(node.blocks[region.index]);
    Builder inner(to_, to_.node(region.made).blocks[region.index]);
    if (region.next < body.nodes.size()) {
      FRAZIL_CHECK(begin(body.nodes[region.next++], inner, {}, open));
      continue;
    }
    inner.yield(region.made, region.index, now(body.results));
    region.next = 0;
    if (++region.index < node.blocks.size()) {
      enter(region);
      continue;
    }
    const Open done = region;
    open.pop_back();
    Builder outer(to_, to_.node(done.made).parent);
    FRAZIL_CHECK(outer.close(done.made, wanted(node)));
    bind_outputs(node, done.made, outer, open.empty() && !name.empty());
  }
  return {};
}

/// Copies a node. A node with bodies is opened and pushed on the stack.
Status NodeCopier::begin(NodeId id, Builder& to, std::string_view name, std::vector<Open>& open) {
  const Node& node = from_.node(id);
  const std::string given = name.empty() ? node.name : std::string(name);
  if (node.blocks.empty()) {
    FRAZIL_TRY(const NodeId made, to.append(*node.op, now(node.in), node.attrs, wanted(node), given));
    bind_outputs(node, made, to, !name.empty());
    return {};
  }
  std::vector<std::size_t> params;
  for (const BlockId b : node.blocks) params.push_back(from_.block(b).params.size());
  FRAZIL_TRY(const NodeId made, to.open(*node.op, now(node.in), node.attrs, params, given));
  open.push_back({id, made});
  enter(open.back());
  return {};
}

/// Binds the params of the next body.
void NodeCopier::enter(const Open& region) {
  const Block& body = from_.block(from_.node(region.from).blocks[region.index]);
  const BlockId block = to_.node(region.made).blocks[region.index];
  for (std::size_t i = 0; i < body.params.size(); ++i) {
    const Value param = to_.block(block).params[i];
    now_[body.params[i].id] = param;
    Builder(to_, block).name_value(param, from_.value_name(body.params[i]));
  }
}

void NodeCopier::bind_outputs(const Node& node, NodeId made, Builder& to, bool renamed) {
  const std::vector<Value> out = to_.node(made).out;
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (!node.out[k]) continue;
    now_[node.out[k].id] = out[k];
    if (!renamed) to.name_value(out[k], from_.value_name(node.out[k]));
  }
}

std::vector<bool> NodeCopier::wanted(const Node& node) {
  std::vector<bool> wanted;
  for (const Value v : node.out) wanted.push_back(static_cast<bool>(v));
  return wanted;
}

}  // namespace frazil
