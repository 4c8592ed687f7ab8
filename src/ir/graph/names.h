#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/value/error.h"
#include "ir/graph/graph.h"

namespace frazil {

/// Returns "relu:0", or "#7:0" for a node without a name. The value must be a result of a node.
std::string output_name(const Graph& graph, Value v);

/// The values and nodes of a graph by every name under which texts, errors, profiles and debuggers show them:
///
///   y                             an output, a value, a node (its first result)
///   relu:1, #7:1                  result 1 of a node; #7 is a node without a name
///   node 'relu' (Relu)            as in errors
///   %3, @weight                   as in the text form
///   If_2/relu                     inside of that node, at any depth; If_2.then_branch/relu: in that body
///   encoder                       an inlined call: its first output
///
/// An output precedes a value of the same name, and a value precedes a node.
class Names {
 public:
  /// `graph` must outlive the object and must not change.
  explicit Names(const Graph& graph);

  /// The values and nodes of one name. Values precede nodes.
  struct Found {
    std::vector<Value> values;
    std::vector<NodeId> nodes;
    bool empty() const { return values.empty() && nodes.empty(); }
  };
  Found find(std::string_view name) const;
  /// Returns Code::bad_input if no value or several values have the name. The message lists their unique names.
  Result<Value> value(std::string_view name) const;
  /// Finds a node like value(). For the name of a value, returns the node that makes it.
  Result<NodeId> node(std::string_view name) const;

  /// Returns a name by which value() or node() finds this one: its own name if that is unique.
  std::string of(Value v) const;
  std::string of(NodeId id) const;
  bool has_value(std::string_view own_name) const { return values_.contains(own_name); }
  /// Returns true if no other value of the graph has the same own name.
  bool is_unique(Value v) const { return values_.count(graph_.value_name(v)) == 1; }

 private:
  Found plain(std::string_view name) const;
  std::vector<NodeId> nodes(std::string_view name) const;
  std::vector<Value> outputs(std::string_view name) const;
  Found inside(std::string_view name) const;
  Found in_text(std::string_view name) const;
  Found call(std::string_view name) const;
  Value first_output(NodeId id) const;
  std::unexpected<Fault> missing(std::string_view kind, std::string_view name) const;
  template <class T>
  std::unexpected<Fault> ambiguous(std::string_view kind, std::string_view name, const std::vector<T>& found) const;

  const Graph& graph_;
  std::unordered_multimap<std::string_view, Value> values_;
  std::unordered_multimap<std::string_view, NodeId> nodes_;
  std::unordered_map<std::uint32_t, NodeId> by_stable_;
};

}  // namespace frazil
