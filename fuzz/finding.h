#pragma once

#include <string>

namespace frazil::fuzz {

/// A violation. Findings of one kind are treated as equal during reduction.
struct Finding {
  std::string kind;
  std::string message;
  bool gap = false;  ///< tier 0 reports as unsupported what the reference executor supports
};

}  // namespace frazil::fuzz
