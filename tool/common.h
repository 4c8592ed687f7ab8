#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/App.hpp>
#include <frazil/environment.h>
#include <frazil/model.h>
#include <frazil/session.h>

#include "tool/error.h"

namespace frazil::tool {

using api::Model;
using api::Session;

/// Options common to run, bench, test and profile. Their defaults are those of the environment.
struct Common {
  api::Options run = api::with_environment(api::Options{});
  api::LoadOptions load = api::with_environment(api::LoadOptions{});
  std::string tier = run.tier;
  double deadline_ms = run.deadline_ms.value_or(0);  ///< 0: none
  bool deadline_given = false;                       ///< the deadline also applies to loads without their own
  bool load_deadline_given = false;
  std::string numerics = "default";
  bool json = false;
  int debug = 0;
  bool debug_given = false;

  /// Returns the bytes that values may take.
  std::uint64_t memory_limit() const { return run.memory_limit.value(); }
};

/// Validates counts, as CLI11 accepts -1 and out-of-range numbers for unsigned options.
CLI::Validator whole_number();
/// The forms in which a command prints its result.
enum class Printing : std::uint8_t { text, json };  ///< json: also as JSON, with --json
/// Declares the options, each in its group. Their defaults are the knobs.
void add_common(CLI::App& app, Common& common, Printing printing = Printing::json);
/// Declares the argument that names a model.
void add_model(CLI::App& app, std::string& model, const char* name = "MODEL");
/// Declares the limits of loading a model. add_common() includes them; call it for commands that run nothing. `load`
/// gets the limits of the environment.
CLI::Option* add_load_limits(CLI::App& app, api::LoadOptions& load);
/// Checks option values beyond the parser's checks, and sets the log level.
void prepare(const Common& common);

/// Reads a model; "-" is standard input.
Model load_model(const std::string& path, const api::LoadOptions& options);
Model load_model(const std::string& path, const Common& common);
/// Returns the options of sessions that the command opens, on the chosen tier.
api::Options session_options(const Common& common);
/// Plans the model for the chosen tier and opens a session.
Session open_session(const Model& model, const Common& common);
/// Logs a warning if a model was planned on tier auto and there is no code generator, unless the warning was logged
/// before. Call it after the command: the line of an error is then alone on stderr.
void warn_of_tier();

/// Checks that standard input, if `path` is "-" or "/dev/stdin", is read for one purpose only. `purpose` names it in
/// the error: "--stream".
void take_standard_input(const std::string& path, std::string_view purpose);

}  // namespace frazil::tool
