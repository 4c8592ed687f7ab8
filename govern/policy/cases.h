#pragma once

#include <string>
#include <vector>

#include "govern/policy/policy.h"

namespace frazil::govern {

struct CaseResult {
  const CaseSyntax* test;
  std::string difference;  ///< empty: the case passed
};

/// Runs the cases of a policy. `deny` expects a forbid that matched or no rule that matched; a policy that could not
/// decide needs `error`.
std::vector<CaseResult> run_cases(const Policy& policy);

/// Returns "forbidden by 'no_topk'", "permitted by 'signed'", "no rule matched", or "could not decide: rule 'r', 3:7:
/// division by zero".
std::string summary_of(const Decision& decision);

}  // namespace frazil::govern
