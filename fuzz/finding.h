#pragma once

#include <string>

namespace frazil::fuzz {

/// Something that must not happen. Findings of one kind are taken for the same while a case is reduced.
struct Finding {
  std::string kind;
  std::string message;
  bool gap = false;  ///< tier 0 says that it cannot do what the reference executor does
};

}  // namespace frazil::fuzz
