#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/pass_set.h"
#include "ir/graph.h"

namespace frazil {

struct PassOptions {
  PassSet passes;
  int verify = 0;  ///< as FRAZIL_VERIFY: each graph that a pass makes is checked so
  /// Composites that stay whole.
  std::function<bool(const Graph&, NodeId)> keep;
};

/// What came of one row of the list.
struct PassRun {
  std::string_view name;
  bool changed = false;
  std::chrono::nanoseconds time{};
  std::string note;  ///< what it did, or why its result was not taken
};

/// A graph that means the same, or nullopt where there is nothing to do, which must cost a look at each node only.
/// `note` is for people.
using PassFunction = Result<std::optional<Graph>> (*)(const Graph& graph, const PassOptions& options,
                                                      std::string& note);

struct PassRow {
  std::optional<Pass> pass;  ///< none: always runs
  std::string_view name;
  PassFunction run;       ///< null: the planner does it
  std::string_view what;  ///< one line
};

/// The front of the compiler, in order. A name may stand there more than once.
std::span<const PassRow> pass_list();

/// Takes a graph through the list. A pass after which the graph no longer types has found an error that the user's own
/// graph meets only when it runs: the graph stays as it was, so that the error comes then, or never.
Result<Graph> run_passes(const Graph& graph, const PassOptions& options, std::vector<PassRun>* runs = nullptr);

/// A table, a line a row that ran.
std::string str(std::span<const PassRun> runs);

}  // namespace frazil
