#pragma once

#include <string>
#include <string_view>

#include "choices.h"

namespace frazil::fuzz {

/// Returns a graph's text with a few tokens or lines changed. Lines of `other` may be inserted.
std::string mutate_text(std::string_view text, std::string_view other, Choices& choices);

}  // namespace frazil::fuzz
