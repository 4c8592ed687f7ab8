#pragma once

#include <map>
#include <string>

#include "ir/graph/graph.h"

namespace frazil::fuzz {

/// Counts the operators that were built, and those that ran on all executors.
class Coverage {
 public:
  static Coverage& global();
  void built(const Graph& graph) { count(graph, &Count::built); }
  void ran(const Graph& graph) { count(graph, &Count::ran); }
  /// Returns one line per operator of the registry, those that never ran first, then totals.
  std::string table() const;

 private:
  struct Count {
    std::uint64_t built = 0, ran = 0;
  };
  void count(const Graph& graph, std::uint64_t Count::* what);
  std::map<const OpDef*, Count> counts_;
};

}  // namespace frazil::fuzz
