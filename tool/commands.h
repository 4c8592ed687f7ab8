#pragma once

#include <functional>
#include <string>

#include <CLI/App.hpp>

#include "tool/error.h"

namespace frazil::tool {

/// The action of a command. Returns its exit code, or a fault.
using Action = std::function<int()>;

/// Each function adds one command to `app`. Parsing the command sets `action`.
void add_run(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_profile(CLI::App& app, Action& action);
void add_test(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_compile(CLI::App& app, Action& action);
void add_ops(CLI::App& app, Action& action);
void add_knobs(CLI::App& app, Action& action);
void add_passes(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_debug(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_reduce(CLI::App& app, Action& action);
void add_view(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_plan_capacity(CLI::App& app, Action& action);
void add_policy(CLI::App& app, Action& action);
void add_audit(CLI::App& app, Action& action);
void add_witness(CLI::App& app, Action& action);
void add_keygen(CLI::App& app, Action& action);
void add_sign(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_approve(CLI::App& app, Action& action);
void add_bom(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
void add_man(CLI::App& app, Action& action);
/// Adds a command that is missing in this build and fails with Code::unsupported. `option` is the CMake option that
/// enables it.
void add_missing(CLI::App& app, Action& action, const std::string& name, const std::string& help,
                 const std::string& option);

}  // namespace frazil::tool
