#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ir/graph/graph.h"
#include "ir/graph/model_info.h"

namespace frazil::onnx {

/// A name as it is written: UTF-8 of at most the bytes that a load allows by default. Others are changed; different
/// names stay different.
std::string fitting(std::string name);

/// A set of unique names.
class UniqueNames {
 public:
  /// Adds a name; returns false when it is in use.
  bool take(const std::string& name) { return taken_.insert(name).second; }
  bool taken(const std::string& name) const { return taken_.contains(name); }
  /// Returns and adds the wanted name, as it is written, if it is free, else the name with the next number appended.
  std::string like(const std::string& wanted);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::size_t> numbers_;  ///< last number used per name
};

/// Names of values and nodes in the written model: those of its graph, or those in one of its functions.
class WrittenNames {
 public:
  explicit WrittenNames(const Graph& graph) : graph_(graph) {}
  /// For the function of a call: the call's prefix is removed, and inputs and outputs have the function's names.
  WrittenNames(const Graph& graph, const ModelInfo::Call& call);

  /// Whether a name of the graph has the call's prefix.
  bool is_inner(const std::string& name) const;
  bool has(Value v) const { return names_.contains(v.id); }
  /// The name of a value. A value without one gets its name in the text form, with a number if that is in use.
  const std::string& of(Value v);
  /// Names a value that has no name as wanted, with a number if the name is in use.
  const std::string& give(Value v, const std::string& wanted);
  /// Gives an input of the function its name there.
  void give_input(Value v);
  /// Names of values; callers may add others.
  UniqueNames& values() { return values_; }

  /// A unique node name: importers require it, but nodes expanded from one node share its name.
  std::string node(const std::string& wanted);

 private:
  std::string inner(const std::string& name) const;
  /// Gives a value its name in the function, if that is known and free.
  bool give_known(Value v, const ModelInfo::Call::Names& names);

  const Graph& graph_;
  const ModelInfo::Call* call_ = nullptr;
  std::unordered_map<std::uint32_t, std::string> names_;  ///< per value
  UniqueNames values_, nodes_;
  std::unordered_set<std::string> known_;
  std::size_t inputs_ = 0;
};

/// The name of a graph value in the function; null when it has none.
const std::string* name_in_function(const ModelInfo::Call::Names& names, const std::string& in_graph);

}  // namespace frazil::onnx
