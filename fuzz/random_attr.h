#pragma once

#include "choices.h"
#include "ir/op.h"

namespace frazil::fuzz {

/// Required attributes, and seeds: without one, a draw that nothing needs shifts the later ones on the reference only.
bool is_always_given(const AttrField& field);
/// Attributes in and out of range for an operator whose first operand has `rank` axes; null where the operator takes
/// none of those tried.
Attrs random_attrs(const OpDef& op, std::size_t rank, Choices& choices);
/// Numbers as attributes and index operands need them, for `rank` axes.
Ints random_ints(std::size_t rank, Choices& choices);

}  // namespace frazil::fuzz
