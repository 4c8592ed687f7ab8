#pragma once

#include <string>

namespace frazil::govern {

/// A reason why something is not accepted.
struct Violation {
  std::string rule;    ///< "worst_cost_ns", "unsigned file"
  std::string object;  ///< "operator 'TopK'", "file 'weights.bin'"
  std::string reason;  ///< "expected at most 500, got 900"

  /// Returns "OBJECT: REASON [RULE]".
  std::string text() const { return object + ": " + reason + " [" + rule + "]"; }
  bool operator==(const Violation&) const = default;
};

}  // namespace frazil::govern
