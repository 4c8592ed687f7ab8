#include "onnx/import/relax_graph.h"

#include <algorithm>
#include <unordered_set>

#include "onnx/import/warn.h"
#include "onnx/read/decode.h"

namespace frazil::onnx {
namespace {

Result<std::string_view> initializer_name(Bytes bytes) {
  FRAZIL_TRY(const TensorHeader header, tensor_header(bytes));
  return header.name;
}

Status keep_last(std::vector<Bytes>& initializers, Result<std::string_view> (*name_of)(Bytes),
                 std::unordered_set<std::string_view>& seen, std::vector<std::string>& warnings) {
  std::vector<Bytes> last;
  for (std::size_t i = initializers.size(); i-- > 0;) {
    FRAZIL_TRY(const std::string_view name, name_of(initializers[i]));
    if (name.empty()) {
      warn(warnings, "an initializer has no name; it is ignored");
    } else if (!seen.insert(name).second) {
      warn(warnings, "initializer '{}' is given twice; the last one counts", proto::shown(name));
    } else {
      last.push_back(initializers[i]);
    }
  }
  std::ranges::reverse(last);
  initializers = std::move(last);
  return {};
}

}  // namespace

Status relax_inputs(GraphParts& graph, std::vector<std::string>& warnings) {
  std::vector<Bytes> named;
  for (const Bytes bytes : graph.inputs) {
    FRAZIL_TRY(const ValueInfo info, read_value_info(bytes));
    if (info.name.empty()) {
      warn(warnings, "an input of the graph has no name; it is ignored");
    } else {
      named.push_back(bytes);
    }
  }
  graph.inputs = std::move(named);
  return {};
}

Status relax_initializers(GraphParts& graph, std::vector<std::string>& warnings) {
  std::unordered_set<std::string_view> seen;
  FRAZIL_CHECK(keep_last(graph.sparse_initializers, sparse_tensor_name, seen, warnings));
  return keep_last(graph.initializers, initializer_name, seen, warnings);
}

}  // namespace frazil::onnx
