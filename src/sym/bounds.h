#pragma once

#include "sym/dim.h"
#include "sym/node.h"
#include "sym/poly.h"

namespace frazil::sym {

/// Bounds that hold for all symbol values without a division by zero. Bounds of nodes are stored, others are computed.

Bounds bounds_of(const Nodes& nodes, Dim d);
Bounds bounds_of(const Nodes& nodes, const Poly& p);
/// Returns the bounds of a new node, by those of its operands.
Bounds bounds_of(const Nodes& nodes, const Node& n);
/// Returns the bounds of a - b.
Bounds difference(const Nodes& nodes, Dim a, Dim b);
/// Returns true if divisibility shows that a and b differ for all symbol values.
bool never_equal(const Nodes& nodes, Dim a, Dim b);

}  // namespace frazil::sym
