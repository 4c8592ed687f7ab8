#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace frazil {

/// Appends an element in the text form. Floats parse back to the same bits: shortest round-trip form, inf, nan, or 0x
/// and the bits for any other NaN.
void append_element(std::string& out, Elem elem, const std::byte* from);
/// Parses one element that is neither a string nor complex. Returns false if the word does not fit the type.
bool read_element(Elem elem, std::string_view word, std::byte* to);

/// Returns a tensor without its type: "[1, 2]", "[[1], [2]]", or "1" for a scalar.
std::string values_text(const Tensor& tensor);

/// Returns a quoted, JSON-like string on one line.
std::string quoted(std::string_view text);
/// Returns the inverse of quoted() for a token with its quotes; nullopt for an invalid escape.
std::optional<std::string> unquoted(std::string_view token);

/// Returns the text form of a graph's name, or of a name that follows % or @. It is quoted only if necessary.
std::string name_text(std::string_view name);

}  // namespace frazil
