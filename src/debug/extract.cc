#include "debug/extract.h"

#include <algorithm>

#include "ir/edit/builder.h"
#include "ir/edit/copy_nodes.h"
#include "ir/op/op.h"

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
    for (const std::uint32_t n : nodes) FRAZIL_CHECK(copier_.copy(NodeId{n}, main_));
    std::size_t unnamed = 0;
    for (const Value v : results) {
      const std::string& name = from_.value_name(v);
      main_.output(name.empty() ? fmt::format("result_{}", unnamed++) : name, {&main_, copier_.now(v)});
    }
    FRAZIL_CHECK(main_.status());
    return std::move(made_);
  }

 private:
  /// Adds the inputs before the nodes: values that the node or its bodies use and that are made elsewhere.
  Status add_inputs(NodeId id, const std::set<std::uint32_t>& nodes) {
    for (const Value v : from_.node(id).in) FRAZIL_CHECK(add_input(v, nodes));
    std::vector<BlockId> open(from_.node(id).blocks.rbegin(), from_.node(id).blocks.rend());
    std::vector<BlockId> blocks;  // all blocks inside the node, outer ones first
    while (!open.empty()) {
      const Block& block = from_.block(open.back());
      blocks.push_back(open.back());
      open.pop_back();
      for (const Value v : block.params) inside_.insert(v.id);
      for (const NodeId n : block.nodes) {
        const Node& inner = from_.node(n);
        for (const Value v : inner.out) inside_.insert(v.id);
        open.insert(open.end(), inner.blocks.rbegin(), inner.blocks.rend());
      }
    }
    for (const BlockId b : blocks) FRAZIL_CHECK(add_inputs_of(from_.block(b), nodes));
    return {};
  }

  Status add_inputs_of(const Block& block, const std::set<std::uint32_t>& nodes) {
    for (const NodeId n : block.nodes) {
      for (const Value v : from_.node(n).in) FRAZIL_CHECK(add_input(v, nodes));
    }
    for (const Value v : block.results) FRAZIL_CHECK(add_input(v, nodes));
    return {};
  }

  Status add_input(Value v, const std::set<std::uint32_t>& nodes) {
    if (!v || copier_.is_bound(v) || inside_.contains(v.id) || from_.constant(v) != nullptr) return {};
    const auto maker = from_.producer(v);
    if (maker && nodes.contains(maker->id)) return {};
    FRAZIL_TRY(const Type type, type_of(v));
    const std::string& name = from_.value_name(v);
    const std::string given = name.empty() ? fmt::format("input_{}", made_.inputs.size()) : name;
    copier_.bind(v, main_.input(given, type).value);
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

  const Graph& from_;
  const std::span<const std::pair<Value, Datum>> given_;
  Extracted made_;
  Builder main_{made_.graph};
  NodeCopier copier_{from_, made_.graph};
  std::set<std::uint32_t> inside_;  // values that bodies define
};

}  // namespace

Result<Extracted> extract(const Graph& from, const std::set<std::uint32_t>& nodes,
                          std::span<const std::pair<Value, Datum>> given, std::span<const Value> results) {
  return Extractor(from, given).run(nodes, results);
}

}  // namespace frazil::debug
