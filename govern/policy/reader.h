#pragma once

#include "govern/policy/compile.h"
#include "govern/policy/policy.h"

namespace frazil::govern {

/// The most that all rules of a hook may cost, in budgets of one rule.
inline constexpr double kRulesPerBudget = 20;

/// Makes a policy of its text: Policy::read().
class PolicyReader {
 public:
  PolicyReader(std::string_view text, std::string_view file);
  /// `until`: an expiry besides that in the text; the earlier one holds.
  std::shared_ptr<const Policy> read(std::optional<std::int64_t> until = {}) &&;

 private:
  void read_until();
  void read_constants();
  void read_rules();
  void read_rule(std::uint32_t index);
  void add(std::uint32_t index, const SyntaxName& hook_name);
  void check_cases() const;
  void check_totals();

  std::shared_ptr<Policy> policy_;
  Constants constants_;
};

}  // namespace frazil::govern
