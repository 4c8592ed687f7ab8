#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ir/graph/graph.h"
#include "ir/graph/model_info.h"

namespace frazil::onnx {

/// Returns a name in the form in which it is written: UTF-8 of at most the bytes that a load allows by default. Names
/// of another form are changed; different names stay different.
std::string fitting(std::string name);

/// A set of unique names.
class UniqueNames {
 public:
  /// Adds a name. Returns false if it is in use.
  bool take(const std::string& name) { return used_.insert(name).second; }
  bool is_used(const std::string& name) const { return used_.contains(name); }
  /// Returns and adds the wanted name if it is free, else the name with the next number. Both have the form of
  /// fitting().
  std::string like(const std::string& wanted);

 private:
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::size_t> numbers_;  ///< last number used for each name
};

/// The names of values and nodes in the written model: those of its graph, or those in one of its functions.
class WrittenNames {
 public:
  explicit WrittenNames(const Graph& graph) : graph_(graph) {}
  /// Names the values of a call's function. Removes the prefix of the call, and gives inputs and outputs the function's
  /// names.
  WrittenNames(const Graph& graph, const ModelInfo::Call& call);

  /// Returns whether a name of the graph has the call's prefix.
  bool is_inner(const std::string& name) const;
  bool has(Value v) const { return names_.contains(v.id); }
  /// Returns the name of a value. A value without a name gets its name in the text form, with a number if that is in
  /// use.
  const std::string& of(Value v);
  /// Gives a value without a name the wanted name, with a number if the name is in use.
  const std::string& assign_name(Value v, const std::string& wanted);
  /// Gives an input of the function the name that it has there.
  void assign_input_name(Value v);
  /// Returns the names of values. Callers may add others.
  UniqueNames& values() { return values_; }

  /// Returns a unique node name. Importers require unique names, but nodes expanded from one node share its name.
  std::string node(const std::string& wanted);

 private:
  std::string inner(const std::string& name) const;
  /// Gives a value its name in the function if the name is known and free.
  bool assign_known_name(Value v, const ModelInfo::Call::Names& names);

  const Graph& graph_;
  const ModelInfo::Call* call_ = nullptr;
  std::unordered_map<std::uint32_t, std::string> names_;  ///< one per value
  UniqueNames values_, nodes_;
  std::unordered_set<std::string> known_;
  std::size_t inputs_ = 0;
};

/// Returns the name of a graph value in the function, or null if it has none.
const std::string* name_in_function(const ModelInfo::Call::Names& names, const std::string& in_graph);

}  // namespace frazil::onnx
