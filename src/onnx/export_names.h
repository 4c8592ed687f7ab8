#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ir/graph.h"
#include "ir/model_info.h"

namespace frazil::onnx {

/// Names, none twice.
class UniqueNames {
 public:
  /// False when the name is taken; else it is from now on.
  bool take(const std::string& name) { return taken_.insert(name).second; }
  bool taken(const std::string& name) const { return taken_.contains(name); }
  /// The name wanted where it is free; else with the next number behind it. Takes it.
  std::string like(const std::string& wanted);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::size_t> numbers_;  ///< the last one behind a name
};

/// The names of values and nodes as a model is written: those of its graph, or those in one of its functions.
class WrittenNames {
 public:
  explicit WrittenNames(const Graph& graph) : graph_(graph) {}
  /// In the function of a call: what the call put in front is left out, inputs and outputs are called as they were.
  WrittenNames(const Graph& graph, const ModelInfo::Call& call);

  /// Whether a name of the graph begins with the call's.
  bool is_inner(const std::string& name) const;
  bool has(Value v) const { return names_.contains(v.id); }
  /// The name of a value; a value without one gets its own name in the graph where that is free, else one like it.
  const std::string& of(Value v);
  /// Gives a value without a name the one wanted, or one like it.
  const std::string& give(Value v, const std::string& wanted);
  /// Gives a value that the function takes its name there.
  void give_input(Value v);
  /// Of values, which other names may join.
  UniqueNames& values() { return values_; }

  /// Readers want names of nodes that are unique; several nodes that came from one have its name.
  std::string node(const std::string& wanted);

 private:
  std::string inner(const std::string& name) const;
  /// Gives a value what the function calls it, if that is known and no other value has it.
  bool give_known(Value v, const ModelInfo::Call::Names& names);

  const Graph& graph_;
  const ModelInfo::Call* call_ = nullptr;
  std::unordered_map<std::uint32_t, std::string> names_;  ///< by value
  UniqueNames values_, nodes_;
  std::unordered_set<std::string> known_;
  std::size_t inputs_ = 0;
};

/// What a function calls a value of the graph; null for one that it does not know.
const std::string* name_in_function(const ModelInfo::Call::Names& names, const std::string& in_graph);

}  // namespace frazil::onnx
