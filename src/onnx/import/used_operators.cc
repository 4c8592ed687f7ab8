#include "onnx/import/used_operators.h"

#include <map>
#include <tuple>

#include "onnx/import/functions.h"
#include "onnx/read/guarded.h"
#include "onnx/upgrade/upgrade.h"

namespace frazil::onnx {
namespace {

/// A message that holds nodes: a GraphProto or a FunctionProto.
struct Holder {
  Bytes bytes;
  Tag node;
  const Opsets* opsets;  ///< of the function; null for those of the model
};

/// Counts operators without recursion, because subgraphs may nest to any depth.
class Counter {
 public:
  explicit Counter(const ModelParts& model) : model_(model) {}

  Result<std::vector<UsedOperator>> run() {
    FRAZIL_CHECK(functions_.index(model_.functions, {}, nullptr));
    waiting_.push_back({model_.graph, kGraphNode, nullptr});
    for (const FunctionParts& f : model_.functions) waiting_.push_back({f.whole, kFunctionNode, &f.opsets});
    while (!waiting_.empty()) {
      const Holder holder = waiting_.back();
      waiting_.pop_back();
      FRAZIL_CHECK(each_field(holder.bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
        if (tag != holder.node) return false;
        FRAZIL_TRY(const Bytes node, message_field(reader));
        FRAZIL_CHECK(count(node, holder));
        return true;
      }));
    }
    std::vector<UsedOperator> all;
    for (const auto& [key, nodes] : counts_) {
      const auto& [domain, name, opset] = key;
      all.push_back({std::string(name), std::string(domain), opset, nodes, is_known_operator(domain, name, opset)});
    }
    return all;
  }

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::int64_t>;  // domain, name, opset

  Status count(Bytes bytes, const Holder& holder) {
    FRAZIL_TRY(const NodeParts node, read_node(bytes));
    if (functions_.find(node) == nullptr) ++counts_[{node.domain, node.op, opset_of(node, holder)}];
    for (const Bytes attribute : node.attributes) FRAZIL_CHECK(open_graphs(attribute, holder));
    return {};
  }

  std::int64_t opset_of(const NodeParts& node, const Holder& holder) const {
    for (const Opsets* opsets : {holder.opsets, &model_.opsets}) {
      if (opsets == nullptr) continue;
      if (const auto found = opsets->find(node.domain); found != opsets->end()) return found->second;
    }
    return model_.info.ir_version < 3 && node.domain.empty() ? 1 : 0;
  }

  Status open_graphs(Bytes attribute, const Holder& holder) {
    constexpr Tag graph = 6, graphs = 11;
    return each_field(attribute, [&](Reader& reader, Tag tag) -> Result<bool> {
      if (tag != graph && tag != graphs) return false;
      FRAZIL_TRY(const Bytes body, message_field(reader));
      waiting_.push_back({body, kGraphNode, holder.opsets});
      return true;
    });
  }

  const ModelParts& model_;
  Functions functions_;
  std::vector<Holder> waiting_;
  std::map<Key, std::size_t> counts_;
};

}  // namespace

Result<std::vector<UsedOperator>> used_operators(Bytes model) {
  return guarded("reading the model's operators", [&]() -> Result<std::vector<UsedOperator>> {
    FRAZIL_TRY(const ModelParts parts, read_model(model));
    if (!parts.has_graph) return fail(Code::bad_model, "the model has no graph");
    return Counter(parts).run();
  });
}

}  // namespace frazil::onnx
