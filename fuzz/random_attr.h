#pragma once

#include "choices.h"
#include "ir/op/op.h"

namespace frazil::fuzz {

/// Returns true for required attributes and seeds. Without a seed, an unneeded draw would shift later draws on the
/// reference executor only.
bool is_always_given(const AttrField& field);
/// Returns attributes in and out of range for an operator whose first operand has `rank` axes. Returns null if the
/// operator accepts none of the candidates.
Attrs random_attrs(const OpDef& op, std::size_t rank, Choices& choices);
/// Returns numbers for attributes and index operands, for `rank` axes.
Ints random_ints(std::size_t rank, Choices& choices);

}  // namespace frazil::fuzz
