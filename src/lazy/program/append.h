#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/edit/builder.h"
#include "lazy/record/node.h"

namespace frazil::lazy {

/// Appends an operator, or the nodes of a function, to the builder's block. The name of an operator's node is the
/// user's line. Returns the results.
Result<std::vector<Value>> append(Builder& to, const Operation& operation, std::span<const Value> inputs,
                                  const Place& place);

/// Returns text such as "Add at model.cc:12" or "function 'cell' at model.cc:12".
std::string describe(const Operation& operation, const Place& place);

/// Returns the fault of a run of one node, with the user's line. The node's program may name the line where it was made
/// instead.
Fault located(Fault fault, const Operation& operation, const Place& place);

}  // namespace frazil::lazy
