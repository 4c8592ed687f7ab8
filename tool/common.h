#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <CLI/App.hpp>

#include "base/error.h"
#include "exec/session.h"
#include "ir/graph.h"

namespace frazil::tool {

using exec::Executable;
using exec::Session;

/// Options that run, bench, test and profile share.
struct Common {
  std::string tier = "auto";
  std::uint32_t threads = 1;
  Limits limits;
  LoadLimits load;
  double deadline_ms = 0;  ///< 0: none
  std::uint64_t seed = 0;
  std::string numerics = "default";
  bool json = false;
  int debug = 0;
};

/// For options that count: CLI11 by itself takes -1, and numbers that are too large, for unsigned ones.
CLI::Validator whole_number();
/// Declares the options, with the knobs as defaults.
void add_common(CLI::App& app, Common& common);
/// Those that limit what loading a model may use; part of add_common, alone for commands that run nothing.
void add_load_limits(CLI::App& app, LoadLimits& limits);
/// Checks what the parser cannot, and sets the log level.
Status prepare(const Common& common);

/// What loading may use by these options.
LoadLimits load_limits_of(const Common& common);
/// Plans the graph for the chosen tier; FRAZIL_DEBUG shows the plan.
Result<std::shared_ptr<Executable>> make_executable(std::shared_ptr<const Graph> graph, const Common& common);
/// Opens a session with the chosen limits.
std::unique_ptr<Session> open_session(Executable& executable, const Common& common);
/// The tier that runs: "0" or "ref".
std::string tier_of(const Common& common);

/// Operators are linked, knobs applied. Called once, before anything else.
Status start();
/// Reads a model; faults name the file where `name_file` is set.
Result<std::shared_ptr<const Graph>> load_graph(const std::string& path, const LoadLimits& limits,
                                                bool name_file = true);

}  // namespace frazil::tool
