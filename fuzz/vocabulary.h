#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "choices.h"
#include "ir/op/op.h"

// Words and numbers that models and the text form are made of.
namespace frazil::fuzz {

const std::vector<const OpDef*>& operators();
/// Operators of old opsets and others that the import converts.
const std::vector<std::string>& other_operators();
const std::vector<std::string>& attribute_names();
/// Values of string attributes.
const std::vector<std::string>& attribute_texts();

/// Mostly small, sometimes at the limits of arithmetic.
std::int64_t some_integer(Choices& choices);
std::int64_t some_extent(Choices& choices);
double some_real(Choices& choices);
std::string some_operator(Choices& choices);

}  // namespace frazil::fuzz
