#pragma once

#include <map>
#include <set>
#include <string>

#include "govern/report/input_flow.h"

namespace frazil::govern {

/// The inputs of a model that may influence something, by name. An input that is not listed influences neither a value
/// nor whether it is computed. The reverse does not hold: a listed input may have no effect.
using Influence = std::map<std::string, std::set<std::string>>;

/// Follows values through nodes and blocks, and conditions to all that they decide. Keys are "output 'y'", the texts of
/// nodes that branch or repeat ("node 'If_12' (If)"), and "model:NAME/VERSION" for what decides whether a node
/// frazil.Call runs a model. VERSION is empty for the current one.
Influence influence_of(const InputFlow& flow);
Influence influence_of(const api::Model& model);

/// Returns the inputs whose values may reach each model that frazil.Call runs, by "model:NAME/VERSION".
Influence reaches_of(const InputFlow& flow);

}  // namespace frazil::govern
