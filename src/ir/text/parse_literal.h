#pragma once

#include "ir/text/text_lexer.h"
#include "tensor/tensor.h"

namespace frazil {

/// A name: a word, a string, or either after % or @.
Result<std::string> read_name(Tokens& tokens);
/// True when a typed literal starts here.
bool at_literal(const Tokens& tokens);
/// "f32[2] [1, 2]"; a single value without brackets fills the tensor.
Result<Tensor> read_literal(Tokens& tokens);
/// The part after the type.
Result<Tensor> read_values(Tokens& tokens, Elem elem, Sizes sizes);

}  // namespace frazil
