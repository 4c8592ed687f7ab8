#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "govern/policy/policy.h"

// The decisions in an audit log that another policy changes.
namespace frazil::govern {

/// A decision on an input without the fields that differ between requests.
struct KnownDecision {
  std::optional<bool> permits;  ///< nullopt: it depends on a field that differs between requests
  std::string text;             ///< "permitted by 'usual'", "depends on the request: 'budget'"
  bool rule_is_known = true;    ///< false: which rule is named depends on such a field
};
/// Decides as Policy::decide() for each value that the absent per-request fields may have.
KnownDecision decide_kept(const Policy& policy, const Input& input);

struct PolicyDiffOptions {
  std::string log;                       ///< the folder of an audit log
  std::optional<std::int64_t> from, to;  ///< times of events in milliseconds since 1970; `to` is excluded
};

struct PolicyDiff {
  enum class Change : std::uint8_t {
    permitted_to_denied,
    denied_to_permitted,
    other_rule,    ///< the same result by another rule or cause
    undetermined,  ///< a rule reads a field that differs between requests, and that is not kept
  };
  /// The decisions that change in one way.
  struct Group {
    Change change;
    Hook hook;
    std::string before, after;                           ///< KnownDecision::text
    std::uint64_t inputs = 0, events = 0, requests = 0;  ///< different inputs; events and requests that refer to them
    std::vector<std::uint64_t> entries;                  ///< indexes of the first events and requests
  };
  std::vector<Group> groups;  ///< by change, then with the most requests and events first
  std::uint64_t inputs = 0, events = 0, requests = 0;
  std::uint64_t without_input = 0;  ///< requests without the digest of an input, and inputs that were removed
  std::uint64_t unreadable = 0;     ///< inputs of another build, with fields that this one lacks

  /// Returns whether a decision changes; undetermined ones do not count.
  bool differs() const;
};
/// Returns "permitted to denied", ...
std::string_view name_of(PolicyDiff::Change change);

/// Decides each input that the log has kept under both policies, once. Verifies no signature of the log; blobs are
/// checked against their digests. Throws Code::bad_input for a damaged log.
PolicyDiff diff_on_log(const Policy& before, const Policy& after, const PolicyDiffOptions& options);

}  // namespace frazil::govern
