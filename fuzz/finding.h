#pragma once

#include <string>

namespace frazil::fuzz {

/// A violation. Findings of one kind are treated as equal while a case is reduced.
struct Finding {
  std::string kind;
  std::string message;
  bool gap = false;  ///< tier 0 reports that it does not support what the reference executor does
};

}  // namespace frazil::fuzz
