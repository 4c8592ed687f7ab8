#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace frazil {

/// Elements of the text form. Floats are written so that they read back to the same bits: shortest round-trip, inf,
/// nan, or 0x and the bits for any other NaN.
void append_element(std::string& out, Elem elem, const std::byte* from);
/// Reads one element that is neither a string nor complex; false when the word does not fit the type.
bool read_element(Elem elem, std::string_view word, std::byte* to);

/// "[1, 2]", "[[1], [2]]", or "1" for a scalar: a tensor without its type.
std::string values_text(const Tensor& tensor);

/// A JSON-like string in quotes, on one line.
std::string quoted(std::string_view text);
/// The inverse, for a token with its quotes; nullopt for a bad escape.
std::optional<std::string> unquoted(std::string_view token);

/// How the text form writes a name behind % or @, or for the graph itself: as it is or in quotes.
std::string name_text(std::string_view name);

}  // namespace frazil
