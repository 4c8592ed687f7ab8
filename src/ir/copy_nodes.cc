#include "ir/copy_nodes.h"

namespace frazil {

Value NodeCopier::now(Value from) {
  if (!from) return {};
  if (const auto at = now_.find(from.id); at != now_.end()) return at->second;
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
                                   : to.dim(from_.scope().symbol_name(*symbol), from_.scope().symbol_bounds(*symbol)));
  }
  return Type::tensor(type.elem, std::move(shape));
}

Status NodeCopier::copy(NodeId id, Builder& to, std::string_view name) {
  const Node& node = from_.node(id);
  const std::string given = name.empty() ? node.name : std::string(name);
  std::vector<bool> wanted;
  for (const Value v : node.out) wanted.push_back(static_cast<bool>(v));
  NodeId made;
  if (node.blocks.empty()) {
    FRAZIL_TRY(made, to.append(*node.op, now(node.in), node.attrs, wanted, given));
  } else {
    FRAZIL_TRY(made, copy_bodies(node, to, given));
    FRAZIL_CHECK(to.close(made, wanted));
  }
  const std::vector<Value> out = to_.node(made).out;
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (!node.out[k]) continue;
    now_[node.out[k].id] = out[k];
    if (name.empty()) to.name_value(out[k], from_.value_name(node.out[k]));
  }
  return {};
}

Result<NodeId> NodeCopier::copy_bodies(const Node& node, Builder& to, const std::string& name) {
  std::vector<std::size_t> params;
  for (const BlockId b : node.blocks) params.push_back(from_.block(b).params.size());
  FRAZIL_TRY(const NodeId made, to.open(*node.op, now(node.in), node.attrs, params, name));
  for (std::size_t k = 0; k < node.blocks.size(); ++k) {
    const Block& body = from_.block(node.blocks[k]);
    const BlockId block = to_.node(made).blocks[k];
    for (std::size_t i = 0; i < body.params.size(); ++i) {
      const Value param = to_.block(block).params[i];
      now_[body.params[i].id] = param;
      to.name_value(param, from_.value_name(body.params[i]));
    }
    Builder inner(to_, block);
    for (const NodeId n : body.nodes) FRAZIL_CHECK(copy(n, inner));
    to.yield(made, k, now(body.results));
  }
  return made;
}

}  // namespace frazil
