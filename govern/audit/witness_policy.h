#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "govern/audit/note.h"

namespace frazil::govern {

/// The file in the folder of a log that names its key and its witnesses, for readers that hold neither.
inline constexpr std::string_view kOwnPolicyFile = "log.policy";

/// The trusted logs and witnesses, and the quorum of cosignatures that a checkpoint needs (C2SP tlog-policy).
class WitnessPolicy {
 public:
  struct Witness {
    std::string name;  ///< within the policy
    VerifierKey key;
    std::string url;  ///< of its submission prefix; empty if not given
  };

  /// Reads the lines `log`, `witness`, `group` and `quorum`. Throws Code::bad_input with `what` and the line.
  static WitnessPolicy parse(std::string_view text, std::string_view what);
  /// Makes a policy that trusts logs and asks for no cosignature.
  static WitnessPolicy of_logs(std::vector<VerifierKey> logs);
  /// Returns the policy with these logs instead of its own.
  WitnessPolicy with_logs(std::vector<VerifierKey> logs) const;
  /// Returns the lines that parse() reads.
  std::string text() const;

  const std::vector<VerifierKey>& logs() const { return logs_; }
  const std::vector<Witness>& witnesses() const { return witnesses_; }
  bool needs_witnesses() const { return quorum_ != "none"; }
  const std::string& quorum() const { return quorum_; }
  /// Returns whether witnesses with these names within the policy are a quorum.
  bool is_quorum(const std::set<std::string>& names) const;
  /// Returns the names of the witnesses whose cosignatures of the note are valid. Invalid ones count as absent.
  std::set<std::string> witnesses_of(const Note& note) const;

 private:
  struct Group {
    std::string name;
    std::size_t needed;
    std::vector<std::string> members;
  };
  friend class WitnessPolicyReader;
  std::vector<VerifierKey> logs_;
  std::vector<Witness> witnesses_;
  std::vector<Group> groups_;  ///< a group follows the groups among its members
  std::string quorum_ = "none";
};

}  // namespace frazil::govern
