#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "onnx/import/frames.h"

namespace frazil::onnx {

/// A counter of bytes that occur once in the file and that calls of functions read or copy again.
class RepeatedBytes {
 public:
  /// `file_bytes` determines the limit for all calls.
  explicit RepeatedBytes(std::size_t file_bytes) : most_(kAny + kPerByte * file_bytes) {}
  /// Fails with Code::limit above the limit.
  Status add(std::size_t bytes);

 private:
  static constexpr std::size_t kAny = std::size_t{32} << 20, kPerByte = 64;
  std::size_t bytes_ = 0;
  const std::size_t most_;
};

/// The functions of a model, which must outlive this.
class Functions {
 public:
  /// If `warnings` is null, two functions of one key are a fault. Otherwise, the last one counts, with a warning.
  Status index(const std::vector<FunctionParts>& functions, const LoadLimits& limits,
               std::vector<std::string>* warnings);
  /// Returns the function that the node calls, or null if it calls none.
  const FunctionParts* find(const NodeParts& node) const;
  /// Fails if the function calls itself, or if the call has too many inputs or outputs. `cx` is the call's context.
  Status check_call(const NameContext& cx, const NodeParts& node, const FunctionParts& function);
  void end_call(const FunctionParts& function) { ended_[&function] = true; }

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;  // domain, name, overload
  std::map<Key, const FunctionParts*> by_key_;
  /// The called functions; true if a call of the function has ended. Such a function does not call itself.
  std::unordered_map<const FunctionParts*, bool> ended_;
};

/// An entry of ModelInfo::calls while its values have no final names.
struct CallRecord {
  std::string name;
  const FunctionParts* function = nullptr;  ///< null if the name is too long to prefix the names inside
  std::size_t first_node = 0, last_node = 0;
  std::vector<Value> inputs, outputs;
  Notes notes;
};

/// The calls of functions, in the order in which they begin.
class CallRecords {
 public:
  /// Returns the number of the call for end().
  std::size_t begin(CallRecord record);
  /// `last_node` is the number of nodes of the graph after the call.
  void end(std::size_t number, std::size_t last_node, std::vector<Value> outputs);
  /// Moves functions and calls to the information on the model.
  void write(ModelParts& model, const Graph& graph);

 private:
  std::vector<CallRecord> calls_;
};

}  // namespace frazil::onnx
