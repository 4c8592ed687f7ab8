#pragma once

#include <functional>

#include <CLI/App.hpp>

#include "base/error.h"

namespace frazil::tool {

/// What a chosen command does: its exit code, or a fault.
using Action = std::function<Result<int>()>;

/// Each declares one command below `app`; when it is chosen, `action` is set.
void add_run(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_profile(CLI::App& app, Action& action);
void add_test(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_ops(CLI::App& app, Action& action);
void add_knobs(CLI::App& app, Action& action);
void add_passes(CLI::App& app, Action& action);
/// Commands of the contract that this build lacks.
void add_missing(CLI::App& app, Action& action);

}  // namespace frazil::tool
