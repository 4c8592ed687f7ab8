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
/// True for a function; its low 32 bits are then its position in ModelInfo::calls, and else the number of a block.
bool is_function(std::uint64_t part);
/// True where `inner` is `outer` with more behind it.
bool is_inside(const Path& inner, const Path& outer);

/// A value of a graph that a run makes or that a body is given; constants are none.
struct Site {
  Value value{};
  std::string name;  ///< of Names::of()
  NodeId node{};     ///< that makes it; invalid: a parameter
  exec::WatchedValue watched;
  std::uint32_t path = 0;  ///< of Sites::path()
};

/// The values of a graph, bodies in front of the results of what they belong to. The outputs of a node are adjacent.
class Sites {
 public:
  explicit Sites(std::shared_ptr<const Graph> graph);

  const Graph& graph() const { return *graph_; }
  std::size_t size() const { return sites_.size(); }
  const Site& operator[](std::size_t i) const { return sites_[i]; }
  const std::vector<exec::WatchedValue>& watched() const { return watched_; }
  const Path& path(std::size_t site) const { return paths_[sites_[site].path]; }
  const Names& names() const { return names_; }
  /// Those of values, of nodes, or of all nodes of an operator: the first of these that have this name.
  std::vector<std::size_t> named(std::string_view name) const;
  /// That of Names::value(); Code::bad_input where there is none, also for a constant.
  Result<std::size_t> require(std::string_view name) const;
  /// A part of a path: "node 'Loop_3' (Loop), body" and "function 'Gelu'".
  std::string title(std::uint64_t part) const;
  /// The titles of what is around a site, outermost first.
  std::vector<std::string> around(std::size_t site) const;

 private:
  class Walk;
  void add(Value v, NodeId node, std::uint32_t path);

  std::shared_ptr<const Graph> graph_;
  std::vector<Site> sites_;
  std::vector<exec::WatchedValue> watched_;  // of each site
  std::vector<Path> paths_;
  Names names_;
  std::unordered_map<std::uint32_t, std::size_t> by_value_;
};

}  // namespace frazil::debug
