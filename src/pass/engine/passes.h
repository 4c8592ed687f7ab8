#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/value/pass_set.h"
#include "ir/graph/graph.h"

namespace frazil::pass {

struct PassOptions {
  PassSet passes;
  int verify = 0;  ///< level of FRAZIL_VERIFY at which the result of each pass is checked
  /// Returns true for composites that are not expanded.
  std::function<bool(const Graph&, NodeId)> keep;
  /// Returns true for composites that have a kernel only with channels last. They are kept until the pass `layout` has
  /// run.
  std::function<bool(const Graph&, NodeId)> keep_for_layout = {};
};

/// The outcome of one row of the pass list.
struct PassRun {
  std::string_view name;
  bool changed = false;
  std::chrono::nanoseconds time{};
  std::string note;  ///< what the pass did, or why its result was discarded
};

/// Returns an equivalent graph, or nullopt if there is nothing to do. That decision must take time linear in the nodes.
/// `note` describes what was done.
using PassFunction = Result<std::optional<Graph>> (*)(const Graph& graph, const PassOptions& options,
                                                      std::string& note);

struct PassRow {
  std::optional<Pass> pass;  ///< nullopt: always runs
  std::string_view name;
  PassFunction run;       ///< null: the planner does it
  std::string_view what;  ///< one-line description
};

/// Returns the graph passes in order. A pass may occur several times.
std::span<const PassRow> pass_list();

/// Runs the passes in order.
/// If a pass makes a graph that does not type-check, it has exposed an error that the user's graph has only at run
/// time. The pass's result is discarded, so that the error is reported when the graph runs, if at all.
Result<Graph> run_passes(const Graph& graph, const PassOptions& options, std::vector<PassRun>* runs = nullptr);

/// Returns a table with one line per pass that ran.
std::string str(std::span<const PassRun> runs);

}  // namespace frazil::pass
