#include "onnx/import/used_operators.h"

#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "onnx/import/functions.h"
#include "onnx/read/guarded.h"
#include "onnx/upgrade/upgrade.h"

namespace frazil::onnx {
namespace {

/// The receiver of what a file contains. A null function: those messages are not read.
struct FileVisitor {
  /// A node with the opsets of its function; null for those of the model.
  std::function<Status(const NodeParts&, const Opsets*)> node = {};
  std::function<Status(Bytes)> tensor = {};  ///< TensorProto: of initializers and attributes, dense or sparse
};

/// Walks through all graphs and functions without recursion, because subgraphs may nest to any depth.
class FileWalk {
 public:
  explicit FileWalk(FileVisitor visitor) : visitor_(std::move(visitor)) {}

  Status run(const ModelParts& model) {
    waiting_.push_back({model.graph, kGraphNode, nullptr});
    for (const FunctionParts& f : model.functions) waiting_.push_back({f.whole, kFunctionNode, &f.opsets});
    while (!waiting_.empty()) {
      const Holder holder = waiting_.back();
      waiting_.pop_back();
      FRAZIL_CHECK(each_field(holder.bytes, [&](Reader& reader, Tag tag) { return field(reader, tag, holder); }));
    }
    return {};
  }

 private:
  /// A message that holds nodes: a GraphProto or a FunctionProto.
  struct Holder {
    Bytes bytes;
    Tag node;
    const Opsets* opsets;
  };

  Result<bool> field(Reader& reader, Tag tag, const Holder& holder) {
    constexpr Tag initializer = 5, sparse_initializer = 15;
    if (tag == holder.node) {
      FRAZIL_TRY(const Bytes bytes, message_field(reader));
      FRAZIL_TRY(const NodeParts node, read_node(bytes));
      if (visitor_.node) FRAZIL_CHECK(visitor_.node(node, holder.opsets));
      for (const Bytes attribute : node.attributes) FRAZIL_CHECK(open_attribute(attribute, holder));
      return true;
    }
    if (holder.node != kGraphNode || !visitor_.tensor) return false;
    if (tag != initializer && tag != sparse_initializer) return false;
    FRAZIL_TRY(const Bytes bytes, message_field(reader));
    FRAZIL_CHECK(tag == initializer ? visitor_.tensor(bytes) : open_sparse(bytes));
    return true;
  }

  Status open_attribute(Bytes attribute, const Holder& holder) {
    constexpr Tag tensor = 5, graph = 6, tensors = 10, graphs = 11, sparse = 22, sparses = 23;
    return each_field(attribute, [&](Reader& reader, Tag tag) -> Result<bool> {
      const bool is_graph = tag == graph || tag == graphs, is_sparse = tag == sparse || tag == sparses;
      const bool is_read = is_graph || (visitor_.tensor && (is_sparse || tag == tensor || tag == tensors));
      if (!is_read) return false;
      FRAZIL_TRY(const Bytes bytes, message_field(reader));
      if (is_graph)
        waiting_.push_back({bytes, kGraphNode, holder.opsets});
      else
        FRAZIL_CHECK(is_sparse ? open_sparse(bytes) : visitor_.tensor(bytes));
      return true;
    });
  }

  Status open_sparse(Bytes bytes) {
    FRAZIL_TRY(const SparseParts parts, read_sparse(bytes));
    FRAZIL_CHECK(visitor_.tensor(parts.values));
    return visitor_.tensor(parts.indices);
  }

  FileVisitor visitor_;
  std::vector<Holder> waiting_;
};

/// Calls read(model) for the model in a file.
template <class T>
Result<T> read_file_parts(const char* what, Bytes file, const std::function<Result<T>(const ModelParts&)>& read) {
  return guarded(what, [&]() -> Result<T> {
    FRAZIL_TRY(const ModelParts parts, read_model(file));
    if (!parts.has_graph) return fail(Code::bad_model, "the model has no graph");
    return read(parts);
  });
}

std::int64_t opset_of(const NodeParts& node, const Opsets* of_function, const ModelParts& model) {
  for (const Opsets* opsets : {of_function, &model.opsets}) {
    if (opsets == nullptr) continue;
    if (const auto found = opsets->find(node.domain); found != opsets->end()) return found->second;
  }
  return model.info.ir_version < 3 && node.domain.empty() ? 1 : 0;
}

Result<std::vector<UsedOperator>> count_operators(const ModelParts& model) {
  using Key = std::tuple<std::string_view, std::string_view, std::int64_t>;  // domain, name, opset
  std::map<Key, std::size_t> counts;
  Functions functions;
  FRAZIL_CHECK(functions.index(model.functions, {}, nullptr));
  const auto count = [&](const NodeParts& node, const Opsets* opsets) -> Status {
    if (functions.find(node) == nullptr) ++counts[{node.domain, node.op, opset_of(node, opsets, model)}];
    return {};
  };
  FRAZIL_CHECK(FileWalk({.node = count}).run(model));
  std::vector<UsedOperator> all;
  for (const auto& [key, nodes] : counts) {
    const auto& [domain, name, opset] = key;
    all.push_back({std::string(name), std::string(domain), opset, nodes, is_known_operator(domain, name, opset)});
  }
  return all;
}

Result<std::vector<std::string>> collect_locations(const ModelParts& model) {
  constexpr Tag external_data = 13;
  std::set<std::string, std::less<>> locations;
  const auto collect = [&](Bytes tensor) -> Status {
    Properties entries;
    FRAZIL_CHECK(each_field(tensor, [&](Reader& reader, Tag tag) -> Result<bool> {
      return tag == external_data ? store(reader, entries) : Result<bool>(false);
    }));
    for (const auto& [key, value] : entries) {
      if (key == "location") locations.insert(value);
    }
    return {};
  };
  FRAZIL_CHECK(FileWalk({.tensor = collect}).run(model));
  return std::vector<std::string>(locations.begin(), locations.end());
}

}  // namespace

Result<std::vector<UsedOperator>> used_operators(Bytes model) {
  return read_file_parts<std::vector<UsedOperator>>("reading the model's operators", model, count_operators);
}

Result<std::vector<std::string>> external_locations(Bytes model) {
  return read_file_parts<std::vector<std::string>>("reading the model's external files", model, collect_locations);
}

}  // namespace frazil::onnx
