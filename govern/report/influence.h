#pragma once

#include <map>
#include <set>
#include <string>

#include <frazil/model.h>

namespace frazil::govern {

/// The inputs of a model that may influence each of its outputs and decisions, by name. Keys are "output 'y'" and the
/// texts of nodes that branch or repeat, "node 'If_12' (If)". An input that is not listed influences neither the value
/// nor whether it is computed. The reverse does not hold: a listed input may have no effect.
using Influence = std::map<std::string, std::set<std::string>>;

/// Follows values through nodes and blocks, and conditions to all that they decide. The time is linear in the number of
/// nodes for each level of nested loops.
Influence influence_of(const api::Model& model);

}  // namespace frazil::govern
