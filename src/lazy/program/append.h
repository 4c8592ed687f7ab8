#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/edit/builder.h"
#include "lazy/record/node.h"

namespace frazil::lazy {

/// Appends an operator, or the nodes of a function, to the builder's block under the name of the user's line. Returns
/// its results.
Result<std::vector<Value>> append(Builder& to, const Operation& operation, std::span<const Value> inputs,
                                  const Place& place);

/// "Add at model.cc:12"; "function 'cell' at model.cc:12".
std::string describe(const Operation& operation, const Place& place);

/// The fault of a run of one node, under the user's line. Its program may name another line, where it was made.
Fault located(Fault fault, const Operation& operation, const Place& place);

}  // namespace frazil::lazy
