#pragma once

#include <functional>
#include <vector>

#include "sym/dim.h"
#include "sym/node.h"

namespace frazil::sym {

/// Returns all non-constant sub-expressions of d, including d, operands first. Leaves out those for which `skip`
/// returns true, together with what only they use.
std::vector<Dim> reach(const Nodes& nodes, Dim d, const std::function<bool(Dim)>& skip = {});

/// Returns the symbols that d reads, ascending, without duplicates.
std::vector<SymbolId> symbols_of(const Nodes& nodes, Dim d);

}  // namespace frazil::sym
