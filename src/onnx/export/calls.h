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

/// An inlined call that can be written as a call again: its nodes are still consecutive in one block.
struct WholeCall {
  const ModelInfo::Call* call = nullptr;
  NodeId first, last;          ///< in their block
  std::vector<Value> outputs;  ///< read elsewhere, or outputs of the function at import
};

/// By the id of the first node; outer calls before inner ones. A function with the name of an operator stays inlined,
/// as the graph may also contain the operator.
using WholeCalls = std::unordered_map<std::uint32_t, std::vector<WholeCall>>;
WholeCalls whole_calls(const Graph& graph);

/// Whether a value is produced by the nodes of a call or is a parameter of their blocks.
bool made_in(const Graph& graph, const ModelInfo::Call& call, Value v);

/// Moves values known to the function to the front, in its order; keeps the order of the others.
void sort_known_first(const Graph& graph, const ModelInfo::Call::Names& names, std::vector<Value>& values);

/// The FunctionProtos of a model.
class FunctionProtos {
 public:
  /// Reserves the function names that the graph knows.
  explicit FunctionProtos(const Graph& graph);
  /// Adds a function, given without a name, and returns its name. Calls with equal bodies share a function; different
  /// bodies, e.g. due to attributes, get a numbered name.
  std::string add(const ModelInfo::Function& function, std::string body);
  const std::vector<std::string>& protos() const { return protos_; }

 private:
  using Key = std::tuple<std::string_view, std::string, std::string_view>;  // domain, name, overload
  std::string free_name(const ModelInfo::Function& function);

  std::map<Key, std::vector<std::pair<std::string, std::string>>> bodies_;  ///< per function: body and name
  std::set<Key> taken_;
  std::vector<std::string> protos_;
};

}  // namespace frazil::onnx
