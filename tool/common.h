#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <CLI/App.hpp>
#include <frazil/model.h>

#include "base/limits/load_scope.h"
#include "base/value/error.h"
#include "exec/run/session.h"
#include "ir/graph/graph.h"

namespace frazil::tool {

using exec::Executable;
using exec::Session;

/// Limits for loading a model.
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
  bool deadline_given = false;  ///< the deadline also applies to loads without their own
  std::uint64_t seed = 0;
  std::string numerics = "default";
  bool json = false;
  int debug = 0;
};

/// Validates counts, as CLI11 accepts -1 and out-of-range numbers for unsigned options.
CLI::Validator whole_number();
/// The forms in which a command prints its result.
enum class Printing : std::uint8_t { text, json };  ///< json: also as JSON, with --json
/// Declares the options, each in its group. Their defaults are the knobs.
void add_common(CLI::App& app, Common& common, Printing printing = Printing::json);
/// Declares the argument that names a model.
void add_model(CLI::App& app, std::string& model, const char* name = "MODEL");
/// Declares the limits of loading a model. add_common() includes them; call it for commands that run nothing.
void add_load_limits(CLI::App& app, Loading& loading);
/// Checks option values beyond the parser's checks, and sets the log level.
Status prepare(const Common& common);

/// Returns the limits of loading set by the options.
LoadBounds load_bounds_of(const Loading& loading);
LoadBounds load_bounds_of(const Common& common);
/// Calls Executable::make within the limits.
Result<std::shared_ptr<Executable>> plan_within(const LoadBounds& bounds, std::shared_ptr<const Graph> graph,
                                                const exec::Options& options);
/// Plans the graph for the chosen tier; FRAZIL_DEBUG prints the plan.
Result<std::shared_ptr<Executable>> make_executable(std::shared_ptr<const Graph> graph, const Common& common);
/// Logs a warning if a model was planned on tier auto and there is no code generator, unless the warning was logged
/// before. Call it after the command: the line of an error is then alone on stderr.
void warn_of_tier();
/// Opens a session with the chosen limits.
std::unique_ptr<Session> open_session(Executable& executable, const Common& common);

/// Links the operators and applies the knobs. Call it once, before anything else.
Status start();
/// Calls a function of the public API and converts its exceptions to faults.
template <class F>
auto from_api(F&& function) -> Result<decltype(function())> {
  try {
    return function();
  } catch (const api::Error& error) {
    return fail(static_cast<Code>(error.code()), "{}", error.what());
  } catch (const std::bad_alloc&) {
    return fail(Code::out_of_memory, "out of memory");
  }
}
/// Reads a model by the public API; "-" is standard input.
Result<api::Model> load_model(const std::string& path, const Loading& loading);
/// Checks that standard input, if `path` is "-" or "/dev/stdin", is read for one purpose only. `purpose` names it in
/// the error: "--stream".
Status take_standard_input(const std::string& path, std::string_view purpose);
/// Reads a model; "-" is standard input. Errors are those of api::load_file().
Result<std::shared_ptr<const Graph>> load_graph(const std::string& path, const LoadBounds& bounds);

}  // namespace frazil::tool
