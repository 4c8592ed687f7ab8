#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "base/limits/load_scope.h"
#include "base/value/error.h"
#include "exec/run/session.h"
#include "ir/graph/graph.h"

namespace frazil::tool {

using exec::Executable;
using exec::Session;

/// What bounds the loading of a model.
struct Loading {
  LoadLimits limits;
  std::optional<double> deadline_ms;  ///< 0: none
};

/// Options common to run, bench, test and profile.
struct Common {
  std::string tier = "auto";
  std::uint32_t threads = 1;
  Limits limits;
  Loading load;
  double deadline_ms = 0;       ///< 0: none
  bool deadline_given = false;  ///< it then holds for loads as well, unless they have one of their own
  std::uint64_t seed = 0;
  std::string numerics = "default";
  bool json = false;
  int debug = 0;
};

/// Validates counts: CLI11 accepts -1 and out-of-range numbers for unsigned options.
CLI::Validator whole_number();
/// Declares the options, with the knobs as defaults.
void add_common(CLI::App& app, Common& common);
/// Declares the limits of loading a model; included in add_common, separate for commands that run nothing.
void add_load_limits(CLI::App& app, Loading& loading);
/// Checks option values that the parser does not, and sets the log level.
Status prepare(const Common& common);

/// The bounds of loading that the options set.
LoadBounds load_bounds_of(const Loading& loading);
LoadBounds load_bounds_of(const Common& common);
/// Executable::make, within the bounds.
Result<std::shared_ptr<Executable>> plan_within(const LoadBounds& bounds, std::shared_ptr<const Graph> graph,
                                                const exec::Options& options);
/// Plans the graph for the chosen tier; FRAZIL_DEBUG prints the plan.
Result<std::shared_ptr<Executable>> make_executable(std::shared_ptr<const Graph> graph, const Common& common);
/// Opens a session with the chosen limits.
std::unique_ptr<Session> open_session(Executable& executable, const Common& common);

/// Links the operators and applies the knobs. Call it once, before anything else.
Status start();
/// Reads a model; faults name the file if `name_file` is set.
Result<std::shared_ptr<const Graph>> load_graph(const std::string& path, const LoadBounds& bounds,
                                                bool name_file = true);

}  // namespace frazil::tool
