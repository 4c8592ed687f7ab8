#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/observer.h"
#include "ir/graph.h"

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
  std::string name;  ///< as in the model, or NODE:1, or #7:1 where the node has no name either
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
  /// A value's, by its name or that of the output that it is.
  std::optional<std::size_t> find(std::string_view name) const;
  /// Those of a value, of a node, or of all nodes of an operator: the first of these that has this name.
  std::vector<std::size_t> named(std::string_view name) const;
  /// Code::bad_input, which tells names that are close.
  Result<std::size_t> require(std::string_view name) const;
  /// A part of a path: "node 'Loop_3' (Loop), body" and "function 'Gelu'".
  std::string title(std::uint64_t part) const;
  /// The titles of what is around a site, outermost first.
  std::vector<std::string> around(std::size_t site) const;

 private:
  class Walk;
  void add(Site site);

  std::shared_ptr<const Graph> graph_;
  std::vector<Site> sites_;
  std::vector<exec::WatchedValue> watched_;  // of each site
  std::vector<Path> paths_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

}  // namespace frazil::debug
