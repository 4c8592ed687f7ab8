#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "govern/base/key.h"
#include "govern/sign/dsse.h"
#include "govern/sign/moment.h"

// Approvals: signed statements of persons that one definition may replace one other in one environment.
namespace frazil::govern {

inline constexpr std::string_view kApprovalType = "https://frazil.dev/approval/v1";
inline constexpr std::string_view kEmergencyType = "https://frazil.dev/emergency-approval/v1";

/// The subject of an approval. Digests are "sha256:" and 64 hexadecimal digits. An empty text means that there is none.
struct ApprovalSubject {
  std::string model;                         ///< its name
  std::string definition;                    ///< Model::digest(); never empty
  std::string parent;                        ///< the definition that it replaces
  std::map<std::string, std::string> files;  ///< digests of the files by name
  std::string report;                        ///< of the static report over all paths
  std::string envelope, policy;              ///< digests of the content of these documents
  std::string environment;                   ///< "production"; never empty
  bool operator==(const ApprovalSubject&) const = default;
};

struct Approval {
  enum class Kind : std::uint8_t { usual, emergency };
  Kind kind = Kind::usual;
  ApprovalSubject subject;
  std::string approver, role;
  Moment issued = 0, not_after = 0;
};

/// Returns a signed approval as DSSE in JSON. Throws Code::bad_input for a definition or another digest that is none,
/// and for an empty environment, approver or role.
std::string sign_approval(const Approval& approval, const SigningKey& key);

/// A person with one key. A person with several keys is listed several times, under one name.
struct Person {
  PublicKey key;
  std::string name;
  std::set<std::string> roles;
};
/// Reads {"persons": [{"name", "roles": [...], "key": PEM}]}. Throws Code::bad_input, also if two persons have one key.
std::vector<Person> read_persons(std::string_view text, std::string_view what);

struct ApprovalRule {
  std::size_t threshold = 2;                   ///< distinct persons; at least 1
  std::vector<std::string> roles;              ///< each needs a person of its own among them; a role may occur twice
  std::string author;                          ///< the author's name; the author's own approval does not count
  Moment clock_slack = 300;                    ///< seconds that an approver's clock may be fast
  Moment emergency_seconds = 0;                ///< longest life of an emergency approval; 0: there are none
  std::set<std::string> emergency_roles = {};  ///< roles that may give one
  bool compare_files = true;                   ///< false: for a definition that was not read from files
};

struct ApprovalResult {
  bool approved = false;
  bool emergency = false;              ///< one person approved in an emergency: record it as an event of its own kind
  std::vector<std::string> approvers;  ///< names, sorted
  std::vector<std::string> reasons;    ///< why approvals were not counted, and why the whole is not approved
};

/// Decides whether approvals suffice. Each must be signed by a trusted key, name its owner and one of the owner's
/// roles, agree with the subject in every member, and be valid now. One emergency approval suffices if the rule has a
/// life for it; the author may give it. An approval that is damaged is not counted, and its reason is given. Throws
/// Code::bad_input for a rule without a threshold or an author.
ApprovalResult check_approvals(const ApprovalSubject& subject, std::span<const std::string> approvals,
                               std::span<const Person> trusted, const ApprovalRule& rule, Moment now);

/// A file with an approval.
struct ApprovalFile {
  std::string name;  ///< in reasons
  std::string text;
};
/// The approvals that hold for a subject, for a caller that has its own rule.
struct CountedApprovals {
  struct One {
    std::size_t file;  ///< index
    std::string approver, role;
    std::string key;  ///< PublicKey::id()
  };
  std::vector<One> counted;          ///< the first of each person
  std::set<std::string> roles;       ///< in which they were given
  bool by_author = false;            ///< the author's own approval is there; it does not count
  std::vector<std::string> reasons;  ///< why approvals were not counted
};
/// Counts approvals as check_approvals() does, without its threshold and roles. Emergency approvals do not count. An
/// empty author is not a person.
CountedApprovals count_approvals(const ApprovalSubject& subject, std::span<const ApprovalFile> approvals,
                                 std::span<const Person> trusted, const std::string& author, bool compare_files,
                                 Moment now);

/// Returns the definition that an approval names. Verifies nothing. Throws Code::bad_input for a text that is not an
/// approval.
std::string definition_in_approval(std::string_view text, std::string_view what);

}  // namespace frazil::govern
