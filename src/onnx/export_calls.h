#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/model_info.h"

namespace frazil::onnx {

/// A call that was inlined and can be written as a call again: its nodes still follow each other in one block.
struct WholeCall {
  const ModelInfo::Call* call = nullptr;
  NodeId first, last;          ///< in their block
  std::vector<Value> outputs;  ///< what others read, or what the function gave when it was imported
};

/// By the number of the first node; outer calls before those in them. A function whose name is that of an operator
/// stays inlined, as its operator may stand in the graph, too.
using WholeCalls = std::unordered_map<std::uint32_t, std::vector<WholeCall>>;
WholeCalls whole_calls(const Graph& graph);

/// Whether a value is made by the nodes of a call, or is a parameter of their blocks.
bool made_in(const Graph& graph, const ModelInfo::Call& call, Value v);

/// Values that the function knows to the front, in its order; the others stay in theirs.
void sort_known_first(const Graph& graph, const ModelInfo::Call::Names& names, std::vector<Value>& values);

/// The FunctionProtos of a model.
class FunctionProtos {
 public:
  /// Names of functions that the graph knows are for these only.
  explicit FunctionProtos(const Graph& graph);
  /// Adds a function, given without its name, and gives the name. Calls with equal bodies share one; others, as with
  /// other attributes, get one with a number.
  std::string add(const ModelInfo::Function& function, std::string body);
  const std::vector<std::string>& protos() const { return protos_; }

 private:
  using Key = std::tuple<std::string_view, std::string, std::string_view>;  // domain, name, overload
  std::string free_name(const ModelInfo::Function& function);

  std::map<Key, std::vector<std::pair<std::string, std::string>>> bodies_;  ///< by the function; body and name
  std::set<Key> taken_;
  std::vector<std::string> protos_;
};

}  // namespace frazil::onnx
