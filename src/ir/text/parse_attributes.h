#pragma once

#include "ir/op/op.h"
#include "ir/text/parse_weight.h"
#include "ir/text/text_lexer.h"

namespace frazil {

/// Reads attributes such as "{axis = 1, pads = [2, 2]}" of a node of operator `op`, if there are any. Returns an error
/// if a required one is missing.
Result<Attrs> read_attributes(Tokens& tokens, const OpDef& op, WeightReader& weights);
Result<std::int64_t> read_integer(Tokens& tokens);

}  // namespace frazil
