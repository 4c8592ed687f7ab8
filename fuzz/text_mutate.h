#pragma once

#include <string>
#include <string_view>

#include "choices.h"

namespace frazil::fuzz {

/// A graph's text, changed in a few tokens or lines. Lines of `other` may be taken over.
std::string mutate_text(std::string_view text, std::string_view other, Choices& choices);

}  // namespace frazil::fuzz
