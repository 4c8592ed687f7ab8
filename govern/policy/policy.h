#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "govern/base/json.h"
#include "govern/policy/hooks.h"
#include "govern/policy/input.h"
#include "govern/policy/program.h"
#include "govern/policy/syntax.h"

namespace frazil::govern {

/// The result of one rule for one input.
enum class Outcome : std::uint8_t { no_match, match, error };
std::string_view name_of(Outcome outcome);

/// A rule in mode shadow that matched or had an error.
struct ShadowResult {
  std::string_view rule;
  Outcome outcome;
};

/// Why a decision is what it is. Only `permitted` permits.
enum class Cause : std::uint8_t {
  could_not_decide,  ///< an error in a rule that could matter, or in the decision itself
  no_rule,           ///< no rule matched
  forbidden,
  permitted,
};
/// Returns "permitted", "forbidden", "no rule matched", "could not decide".
std::string_view name_of(Cause cause);

/// A decision. The views refer to the policy, which must outlive them.
struct Decision {
  Cause cause = Cause::could_not_decide;
  std::string_view rule;    ///< the rule that decided; empty if no rule matched
  std::string_view reason;  ///< the rule's reason
  std::string error;        ///< why the policy could not decide, with line and column, without values of the input
  std::string_view policy;  ///< the digest of the policy
  std::uint64_t serial = 0;
  std::vector<ShadowResult> shadow;
  std::optional<Cause>
      would;  ///< the cause if shadow rules were enforced; set if a shadow rule matched or had an error

  bool permits() const { return cause == Cause::permitted; }
};

/// Returns {"decision", "cause", "rule", "reason", "error", "policy", "serial", "shadow", "would"}, without members
/// that are empty. "decision" is "permit" or "deny".
Json to_json(const Decision& decision);

/// Limits of one decision; a decision that reaches one denies.
struct DecideOptions {
  std::uint64_t max_steps = 0;                    ///< nodes to evaluate; 0: what the costs of the hook's rules allow
  std::size_t max_memory = std::size_t{1} << 24;  ///< bytes of texts and lists that rules make
};

/// A rule as it is compiled for one hook.
struct RuleOnHook {
  std::uint32_t rule = 0;  ///< index in Policy::rules()
  std::uint32_t node = 0;
  double cost = 0;
  bool reads_request = false;
  bool tests_request = false;  ///< its result for an absent per-request field may differ from that for a present one
  bool always = false;         ///< matches every input
  bool never = false;          ///< matches no input
};

struct RuleResult {
  std::uint32_t rule = 0;
  Outcome outcome = Outcome::no_match;
  std::string error;
};

/// A policy: rules that permit or forbid, and cases that test them. Immutable; threads may share it.
///
/// A decision permits if a permit matches, no forbid matches, and no forbid has an error. A matching forbid denies,
/// whatever other rules do. If neither a permit nor a forbid matches and a rule has an error, or if a forbid has an
/// error, the policy could not decide. The result does not depend on the order of the rules, except for which of
/// several deciding rules is named: the first.
class Policy {
 public:
  /// `file` names the text in errors. Throws Code::bad_input with file, line and column: for syntax, types, and rules
  /// over the budget of their hook. Throws Code::limit for a text beyond its limits. `until`: an expiry from elsewhere,
  /// in seconds since 1970; the earlier one holds.
  static std::shared_ptr<const Policy> read(std::string_view text, std::string_view file,
                                            std::optional<std::int64_t> until = {});
  static std::shared_ptr<const Policy> read_file(const std::string& path);

  const std::string& name() const { return syntax_.name; }
  std::uint64_t serial() const { return static_cast<std::uint64_t>(syntax_.serial); }
  /// Returns the expiry in seconds since 1970, if the policy has one. Decisions do not depend on it: the caller refuses
  /// a policy that has expired.
  std::optional<std::int64_t> until() const { return until_; }
  bool has_expired(std::int64_t unix_seconds) const { return until_ && unix_seconds >= *until_; }
  /// Returns the digest of the text: "sha256:...".
  const std::string& digest() const { return digest_; }

  /// Decides. Never throws and never permits after an error: a fault of any kind gives Cause::could_not_decide.
  /// Allocates only for errors, for shadow results and for texts that rules make.
  Decision decide(const Input& input, const DecideOptions& options = {}) const noexcept;
  /// Returns the outcome of every rule of the input's hook. Throws std::bad_alloc.
  std::vector<RuleResult> explain(const Input& input) const;

  /// Returns whether a rule of the hook reads a field that differs between requests. Otherwise a decision holds for all
  /// inputs with equal other fields, and may be kept under their values and digest().
  bool reads_request(Hook hook) const { return reads_request_[static_cast<std::size_t>(hook)]; }

  std::span<const RuleSyntax> rules() const { return syntax_.rules; }
  std::span<const RuleOnHook> rules_on(Hook hook) const { return on_hook_[static_cast<std::size_t>(hook)]; }
  std::span<const CaseSyntax> cases() const { return syntax_.cases; }
  std::span<const SyntaxName> unused_constants() const { return unused_; }
  const std::string& file() const { return file_; }

 private:
  friend class PolicyReader;
  Policy() = default;
  struct Tally;
  Decision decide_enforced(const Input& input, const DecideOptions& options, Tally& tally_of) const;
  bool tally(const Input& input, const DecideOptions& options, bool shadow, Tally& tally,
             std::vector<ShadowResult>* results) const;

  std::string file_, digest_;
  PolicySyntax syntax_;
  std::optional<std::int64_t> until_;
  PolicyProgram program_;
  std::array<std::vector<RuleOnHook>, kHooks> on_hook_;
  std::array<bool, kHooks> reads_request_ = {};
  std::array<std::uint64_t, kHooks> max_steps_ = {};
  std::vector<SyntaxName> unused_;
  bool has_shadow_ = false;
};

}  // namespace frazil::govern
