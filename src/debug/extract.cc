#include "debug/extract.h"

#include <algorithm>
#include <map>

#include "ir/builder.h"
#include "ir/op.h"

namespace frazil::debug {
namespace {

class Extractor {
 public:
  Extractor(const Graph& from, std::span<const std::pair<Value, Datum>> given) : from_(from), given_(given) {
    made_.graph.name = from.name;
    made_.graph.info = nullptr;
  }

  Result<Extracted> run(const std::set<std::uint32_t>& nodes, std::span<const Value> results) {
    for (const std::uint32_t n : nodes) FRAZIL_CHECK(add_inputs(NodeId{n}, nodes));
    for (const std::uint32_t n : nodes) FRAZIL_CHECK(copy(NodeId{n}, main_));
    std::size_t unnamed = 0;
    for (const Value v : results) {
      const std::string& name = from_.value_name(v);
      main_.output(name.empty() ? fmt::format("result_{}", unnamed++) : name, {&main_, now_.at(v.id)});
    }
    FRAZIL_CHECK(main_.status());
    return std::move(made_);
  }

 private:
  /// Inputs come first: what is used, in bodies as well, and made elsewhere.
  Status add_inputs(NodeId id, const std::set<std::uint32_t>& nodes) {
    const Node& node = from_.node(id);
    for (const Value v : node.in) FRAZIL_CHECK(add_input(v, nodes));
    for (const BlockId b : node.blocks) {
      for (const Value v : from_.block(b).params) inside_.insert(v.id);
      for (const NodeId inner : from_.block(b).nodes) {
        for (const Value v : from_.node(inner).out) inside_.insert(v.id);
        FRAZIL_CHECK(add_inputs(inner, nodes));
      }
      for (const Value v : from_.block(b).results) FRAZIL_CHECK(add_input(v, nodes));
    }
    return {};
  }

  Status add_input(Value v, const std::set<std::uint32_t>& nodes) {
    if (!v || now_.contains(v.id) || inside_.contains(v.id) || from_.constant(v) != nullptr) return {};
    const auto maker = from_.producer(v);
    if (maker && nodes.contains(maker->id)) return {};
    FRAZIL_TRY(const Type type, type_of(v));
    const std::string& name = from_.value_name(v);
    const std::string given = name.empty() ? fmt::format("input_{}", made_.inputs.size()) : name;
    now_[v.id] = main_.input(given, type).value;
    made_.inputs.push_back(v);
    return main_.status();
  }

  Result<Type> type_of(Value v) const {
    const auto at = std::ranges::find(given_, v, &std::pair<Value, Datum>::first);
    if (at != given_.end() && at->second.is_tensor()) {
      Shape shape;
      for (const std::int64_t extent : at->second.tensor().sizes()) shape.push_back(Dim(extent));
      return Type::tensor(at->second.tensor().elem(), std::move(shape));
    }
    const Type& type = from_.type(v);
    const bool fixed = std::ranges::all_of(type.shape, [](Dim d) { return d.is_const(); });
    if (type.item == nullptr && fixed) return type;
    return fail(Code::unsupported, "value '{}' of type {} cannot become an input", from_.value_name(v),
                str(type, from_.scope()));
  }

  Value now(Value v) {
    if (!v) return {};
    if (const auto at = now_.find(v.id); at != now_.end()) return at->second;
    const Constant* constant = from_.constant(v);
    return now_[v.id] = main_.constant(constant->tensor, from_.value_name(v)).value;
  }
  std::vector<Value> now(const std::vector<Value>& values) {
    std::vector<Value> mapped;
    for (const Value v : values) mapped.push_back(now(v));
    return mapped;
  }

  Status copy(NodeId id, Builder& to) {
    const Node& node = from_.node(id);
    std::vector<bool> wanted;
    for (const Value v : node.out) wanted.push_back(static_cast<bool>(v));
    NodeId made;
    if (node.blocks.empty()) {
      FRAZIL_TRY(made, to.append(*node.op, now(node.in), node.attrs, wanted, node.name));
    } else {
      FRAZIL_TRY(made, copy_bodies(node, to));
      FRAZIL_CHECK(to.close(made, wanted));
    }
    const std::vector<Value> out = made_.graph.node(made).out;
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (!node.out[k]) continue;
      now_[node.out[k].id] = out[k];
      to.name_value(out[k], from_.value_name(node.out[k]));
    }
    return {};
  }

  Result<NodeId> copy_bodies(const Node& node, Builder& to) {
    std::vector<std::size_t> params;
    for (const BlockId b : node.blocks) params.push_back(from_.block(b).params.size());
    FRAZIL_TRY(const NodeId made, to.open(*node.op, now(node.in), node.attrs, params, node.name));
    for (std::size_t k = 0; k < node.blocks.size(); ++k) {
      const Block& body = from_.block(node.blocks[k]);
      const BlockId block = made_.graph.node(made).blocks[k];
      for (std::size_t i = 0; i < body.params.size(); ++i) {
        const Value param = made_.graph.block(block).params[i];
        now_[body.params[i].id] = param;
        to.name_value(param, from_.value_name(body.params[i]));
      }
      Builder inner(made_.graph, block);
      for (const NodeId n : body.nodes) FRAZIL_CHECK(copy(n, inner));
      to.yield(made, k, now(body.results));
    }
    return made;
  }

  const Graph& from_;
  const std::span<const std::pair<Value, Datum>> given_;
  Extracted made_;
  Builder main_{made_.graph};
  std::map<std::uint32_t, Value> now_;  // by value of from_
  std::set<std::uint32_t> inside_;      // values that bodies define
};

}  // namespace

Result<Extracted> extract(const Graph& from, const std::set<std::uint32_t>& nodes,
                          std::span<const std::pair<Value, Datum>> given, std::span<const Value> results) {
  return Extractor(from, given).run(nodes, results);
}

}  // namespace frazil::debug
