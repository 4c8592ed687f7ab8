#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "choices.h"
#include "ir/op/op.h"

// Words and numbers for models and the text form.
namespace frazil::fuzz {

const std::vector<const OpDef*>& operators();
/// Returns operators of old opsets and others that the importer converts.
const std::vector<std::string>& other_operators();
const std::vector<std::string>& attribute_names();
/// Returns values of string attributes.
const std::vector<std::string>& attribute_texts();

/// Returns mostly small integers, sometimes limits of arithmetic.
std::int64_t some_integer(Choices& choices);
std::int64_t some_extent(Choices& choices);
double some_real(Choices& choices);
std::string some_operator(Choices& choices);

}  // namespace frazil::fuzz
