#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exec/observe/observer.h"
#include "ir/graph/graph.h"
#include "ir/graph/names.h"

namespace frazil::debug {

/// The branches, loop bodies and inlined functions around a value, outermost first.
using Path = std::vector<std::uint64_t>;
/// Returns true if a part of a path is a function. Its low 32 bits are then its position in ModelInfo::calls; otherwise
/// they are the number of a block.
bool is_function(std::uint64_t part);
/// Returns true if `inner` is `outer` followed by more parts.
bool is_inside(const Path& inner, const Path& outer);

/// A value of a graph that a run makes, or a parameter of a body. Constants are not sites.
struct Site {
  Value value{};
  std::string name;  ///< from Names::of()
  NodeId node{};     ///< the producer; invalid for a parameter
  exec::WatchedValue watched;
  std::uint32_t path = 0;  ///< index in Sites::paths_
};

/// The values of a graph. Values in bodies come before the results of the node that has the bodies. The outputs of a
/// node are adjacent.
class Sites {
 public:
  explicit Sites(std::shared_ptr<const Graph> graph);

  const Graph& graph() const { return *graph_; }
  std::size_t size() const { return sites_.size(); }
  const Site& operator[](std::size_t i) const { return sites_[i]; }
  const std::vector<exec::WatchedValue>& watched() const { return watched_; }
  const Path& path(std::size_t site) const { return paths_[sites_[site].path]; }
  const Names& names() const { return names_; }
  /// Returns the sites of the value, of the node, or of all nodes of the operator that has this name, whichever comes
  /// first.
  std::vector<std::size_t> named(std::string_view name) const;
  /// Returns the site of the value that Names::value() finds. Returns Code::bad_input if there is none, also for a
  /// constant.
  Result<std::size_t> require(std::string_view name) const;
  /// Returns the title of a part of a path: "node 'Loop_3' (Loop), body" or "function 'gelu_1' (Gelu)".
  std::string title(std::uint64_t part) const;
  /// Returns the titles of the parts of a site's path, outermost first.
  std::vector<std::string> around(std::size_t site) const;

 private:
  class Walk;
  void add(Value v, NodeId node, std::uint32_t path);

  std::shared_ptr<const Graph> graph_;
  std::vector<Site> sites_;
  std::vector<exec::WatchedValue> watched_;  // per site
  std::vector<Path> paths_;
  Names names_;
  std::unordered_map<std::uint32_t, std::size_t> by_value_;
};

}  // namespace frazil::debug
