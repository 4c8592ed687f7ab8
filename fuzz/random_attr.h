#pragma once

#include "choices.h"
#include "ir/op/op.h"

namespace frazil::fuzz {

/// Required attributes, and seeds: without one, an unneeded draw shifts the later ones on the reference executor only.
bool is_always_given(const AttrField& field);
/// Attributes in and out of range for an operator whose first operand has `rank` axes; null if the operator accepts
/// none of those tried.
Attrs random_attrs(const OpDef& op, std::size_t rank, Choices& choices);
/// Numbers for attributes and index operands, for `rank` axes.
Ints random_ints(std::size_t rank, Choices& choices);

}  // namespace frazil::fuzz
