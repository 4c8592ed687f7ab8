#pragma once

#include <string>

#include "server/config/yaml.h"
#include "server/host/host_node.h"
#include "server/host/python_process.h"

namespace frazil::server {

/// Reads the key `sandbox` of a step into `command.sandbox` and the limit of processor time; `command.sandbox.network`
/// is set before. The least level is at least that of the scope. Throws api::Error (bad_input) that names the place.
void read_sandbox(const YamlNode& step, const HostScope& scope, PythonCommand& command);

/// Returns a text with everything in a command that its sandbox depends on.
std::string declaration_of_sandbox(const PythonCommand& command);

}  // namespace frazil::server
