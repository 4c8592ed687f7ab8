#pragma once

#include "base/limits/load_scope.h"
#include "ir/text/text_lexer.h"
#include "tensor/tensor.h"

namespace frazil {

/// Reads a name: a word, a string, or either after % or @.
Result<std::string> read_name(Tokens& tokens);
/// Returns Code::limit if the name has more bytes than `limits` allow.
Result<std::string> read_name(Tokens& tokens, const LoadLimits& limits);
/// Returns true if a typed literal starts here.
bool at_literal(const Tokens& tokens);
/// Reads a literal such as "f32[2] [1, 2]". A single value without brackets fills the tensor.
Result<Tensor> read_literal(Tokens& tokens);
/// Reads the part of a literal after the type.
Result<Tensor> read_values(Tokens& tokens, Elem elem, Sizes sizes);

}  // namespace frazil
