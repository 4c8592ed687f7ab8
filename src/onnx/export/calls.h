#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/model_info.h"

namespace frazil::onnx {

/// An inlined call that can be exported as a call, because its nodes are consecutive in one block.
struct ExportableCall {
  const ModelInfo::Call* call = nullptr;
  NodeId first, last;          ///< positions in the block
  std::vector<Value> outputs;  ///< values read elsewhere, or outputs of the function at import
};

/// The exportable calls by the id of their first node, outer calls before inner ones. A function with the name of an
/// operator stays inlined, because the graph may also contain the operator.
using ExportableCalls = std::unordered_map<std::uint32_t, std::vector<ExportableCall>>;
ExportableCalls exportable_calls(const Graph& graph);

/// Returns whether nodes of the call produce the value, or the value is a parameter of their blocks.
bool made_in(const Graph& graph, const ModelInfo::Call& call, Value v);

/// Moves the values that the function names to the front, in its order. Keeps the order of the others.
void sort_known_first(const Graph& graph, const ModelInfo::Call::Names& names, std::vector<Value>& values);

/// The FunctionProtos of a model.
class FunctionProtos {
 public:
  /// Reserves the function names that the graph contains.
  explicit FunctionProtos(const Graph& graph);
  /// Adds a function, given without a name, and returns its name. Calls with equal bodies share a function. Different
  /// bodies, e.g. due to attributes, get a numbered name.
  std::string add(const ModelInfo::Function& function, std::string body);
  const std::vector<std::string>& protos() const { return protos_; }

 private:
  using Key = std::tuple<std::string_view, std::string, std::string_view>;  // domain, name, overload
  std::string free_name(const ModelInfo::Function& function);

  std::map<Key, std::vector<std::pair<std::string, std::string>>> bodies_;  ///< body and name of each function
  std::set<Key> used_;
  std::vector<std::string> protos_;
};

}  // namespace frazil::onnx
