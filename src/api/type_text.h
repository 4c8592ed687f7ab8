#pragma once

#include <string>

#include "ir/graph/type.h"

namespace frazil::api {

/// Returns the type as people read it, with "?" for each extent whose text has more than 24 characters.
inline std::string type_text(const Type& type, const Scope& scope) {
  constexpr std::size_t kLongestExtent = 24;
  return short_str(type, scope, kLongestExtent);
}

}  // namespace frazil::api
