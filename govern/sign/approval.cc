#include "govern/sign/approval.h"

#include <algorithm>
#include <functional>

#include <frazil/text.h>

#include "govern/base/encoding.h"
#include "govern/base/error.h"
#include "govern/sign/statement.h"

namespace frazil::govern {
namespace {

constexpr std::string_view kDigestPrefix = "sha256:";

bool is_digest_text(std::string_view text) {
  if (!text.starts_with(kDigestPrefix)) return false;
  const auto bytes = from_hex(text.substr(kDigestPrefix.size()));
  return bytes && bytes->size() == 32;
}

void require_digest_text(std::string_view name, const std::string& text, bool may_be_empty) {
  if (is_digest_text(text) || (may_be_empty && text.empty())) return;
  fail(Code::bad_input, "approval: '{}': expected a digest 'sha256:' with 64 hexadecimal digits, got '{}'", name,
       api::printable(text));
}

void require_complete(const Approval& approval) {
  const ApprovalSubject& subject = approval.subject;
  require_digest_text("definition", subject.definition, false);
  require_digest_text("parent", subject.parent, true);
  require_digest_text("report", subject.report, true);
  require_digest_text("envelope", subject.envelope, true);
  require_digest_text("policy", subject.policy, true);
  for (const auto& [name, digest] : subject.files) require_digest_text(name, digest, false);
  for (const auto& [name, text] : {std::pair("environment", subject.environment),
                                   std::pair("approver", approval.approver), std::pair("role", approval.role)}) {
    if (text.empty()) fail(Code::bad_input, "approval: '{}' is empty", name);
  }
  if (approval.not_after < approval.issued) fail(Code::bad_input, "approval: it expires before it is issued");
}

Moment moment_in_approval(const Json& json, const char* name, std::string_view what) {
  const auto moment = moment_from(text_member(json, name, what));
  if (!moment) fail(Code::bad_input, "{}: '{}': expected a time such as 2026-11-28T14:05:09Z", what, name);
  return *moment;
}

Approval approval_from(std::string_view payload, Approval::Kind kind, std::string_view what) {
  const bool usual = kind == Approval::Kind::usual;
  const Statement statement = read_statement(payload, usual ? kApprovalType : kEmergencyType, what);
  if (statement.subjects.size() != 1) fail(Code::bad_input, "{}: 'subject': expected one", what);
  const Json& json = statement.predicate;
  Approval approval{.kind = kind,
                    .subject = {.model = statement.subjects.front().name,
                                .definition = std::string(kDigestPrefix) + statement.subjects.front().digest,
                                .parent = text_member(json, "parent", what),
                                .files = {},
                                .report = text_member(json, "report", what),
                                .envelope = text_member(json, "envelope", what),
                                .policy = text_member(json, "policy", what),
                                .environment = text_member(json, "environment", what)},
                    .approver = text_member(json, "approver", what),
                    .role = text_member(json, "role", what),
                    .issued = moment_in_approval(json, "issued", what),
                    .not_after = moment_in_approval(json, "not_after", what)};
  const Json& files = member(json, "files", what);
  if (!files.is_object()) fail(Code::bad_input, "{}: 'files': expected an object", what);
  for (const auto& [name, digest] : files.items()) {
    approval.subject.files[name] = text_member(files, name.c_str(), what);
  }
  return approval;
}

/// Returns the name of the first member in which an approval differs from the subject, or "".
std::string difference_of_subjects(const ApprovalSubject& approved, const ApprovalSubject& subject) {
  const auto text = [](const std::string& value) {
    return value.empty() ? std::string("none") : api::printable(value);
  };
  const auto differs = [&](const char* name, const std::string& is, const std::string& expected) {
    return fmt::format("its {} is {}, expected {}", name, text(is), text(expected));
  };
  if (approved.model != subject.model) return differs("model", approved.model, subject.model);
  if (approved.definition != subject.definition) return differs("definition", approved.definition, subject.definition);
  if (approved.parent != subject.parent) return differs("parent", approved.parent, subject.parent);
  if (approved.report != subject.report) return differs("report", approved.report, subject.report);
  if (approved.envelope != subject.envelope) return differs("envelope", approved.envelope, subject.envelope);
  if (approved.policy != subject.policy) return differs("policy", approved.policy, subject.policy);
  if (approved.environment != subject.environment) {
    return differs("environment", approved.environment, subject.environment);
  }
  return approved.files == subject.files ? "" : "its files are not those of the model";
}

/// Counts the approvals of a subject.
class ApprovalCount {
 public:
  ApprovalCount(const ApprovalSubject& subject, std::span<const Person> trusted, const ApprovalRule& rule, Moment now)
      : subject_(subject), trusted_(trusted), rule_(rule), now_(now) {
    for (const Person& person : trusted) keys_.push_back(person.key);
  }

  void add(const std::string& text, const std::string& what) {
    std::string reason;
    const std::size_t file = next_++;
    try {
      reason = fault(read_envelope(text, what), what, file);
    } catch (const Error& error) {
      result_.reasons.emplace_back(error.what());
      return;
    }
    if (!reason.empty()) result_.reasons.push_back(what + ": " + reason);
  }
  ApprovalResult result() {
    if (!emergency_.empty()) {
      result_.approved = result_.emergency = true;
      result_.approvers = {emergency_};
      return std::move(result_);
    }
    for (const auto& [name, roles] : roles_) result_.approvers.push_back(name);
    if (roles_.size() < rule_.threshold) {
      result_.reasons.push_back(
          fmt::format("{} persons approved, expected at least {}", roles_.size(), rule_.threshold));
    } else if (!has_roles()) {
      result_.reasons.push_back(
          fmt::format("expected a person for each of the roles {}", fmt::join(rule_.roles, ", ")));
    } else {
      result_.approved = true;
    }
    return std::move(result_);
  }
  CountedApprovals counted() {
    std::ranges::move(result_.reasons, std::back_inserter(counted_.reasons));
    return std::move(counted_);
  }

 private:
  /// Counts an approval, or returns the reason why it does not count.
  std::string fault(const Envelope& envelope, const std::string& what, std::size_t file) {
    const auto verified = verify_envelope(envelope, kInTotoType, keys_, 1);
    if (!verified) return verified.error();
    const Json json = parse_json(verified->payload, what);
    const auto kind =
        text_member(json, "predicateType", what) == kEmergencyType ? Approval::Kind::emergency : Approval::Kind::usual;
    const Approval approval = approval_from(verified->payload, kind, what);
    const auto is_signer = [&](std::size_t i) { return trusted_[i].name == approval.approver; };
    const auto signer = std::ranges::find_if(verified->signers, is_signer);
    if (signer == verified->signers.end()) {
      return fmt::format("it names '{}', but the key is of '{}'", api::printable(approval.approver),
                         trusted_[verified->signers.front()].name);
    }
    if (!trusted_[*signer].roles.contains(approval.role)) {
      return fmt::format("'{}' does not have the role '{}'", approval.approver, api::printable(approval.role));
    }
    ApprovalSubject wanted = subject_;
    if (!rule_.compare_files) wanted.files = approval.subject.files;
    if (std::string reason = difference_of_subjects(approval.subject, wanted); !reason.empty()) return reason;
    if (now_ > approval.not_after) return "it expired at " + moment_text(approval.not_after);
    if (approval.issued > now_ + rule_.clock_slack) return "it is issued later than now";
    return kind == Approval::Kind::emergency ? add_emergency(approval)
                                             : add_usual(approval, {file, {}, {}, keys_[*signer].id()});
  }

  std::string add_usual(const Approval& approval, CountedApprovals::One one) {
    if (approval.approver == rule_.author) {
      counted_.by_author = true;
      return "'" + approval.approver + "' is the author";
    }
    const auto [person, first] = roles_.try_emplace(approval.approver);
    if (!person->second.insert(approval.role).second) {
      counted_.reasons.push_back("'" + approval.approver + "' has approved it already");
    }
    counted_.roles.insert(approval.role);
    one.approver = approval.approver;
    one.role = approval.role;
    if (first) counted_.counted.push_back(std::move(one));
    return {};
  }
  std::string add_emergency(const Approval& approval) {
    if (rule_.emergency_seconds == 0) return "the rule has no emergency approvals";
    if (!rule_.emergency_roles.contains(approval.role)) {
      return "the role '" + approval.role + "' may not approve in an emergency";
    }
    if (approval.not_after - approval.issued > rule_.emergency_seconds) {
      return fmt::format("it is valid for {} s, expected at most {} s", approval.not_after - approval.issued,
                         rule_.emergency_seconds);
    }
    emergency_ = approval.approver;
    return {};
  }

  /// Returns whether each role has a person of its own (a matching by augmenting paths).
  bool has_roles() const {
    std::map<std::string, std::size_t> taken;  // person to the index of a role
    const std::function<bool(std::size_t, std::set<std::string>&)> place = [&](std::size_t role,
                                                                               std::set<std::string>& seen) {
      for (const auto& [name, roles] : roles_) {
        if (!roles.contains(rule_.roles[role]) || !seen.insert(name).second) continue;
        const auto other = taken.find(name);
        if (other != taken.end() && !place(other->second, seen)) continue;
        taken[name] = role;
        return true;
      }
      return false;
    };
    for (std::size_t role = 0; role < rule_.roles.size(); ++role) {
      std::set<std::string> seen;
      if (!place(role, seen)) return false;
    }
    return true;
  }

  const ApprovalSubject& subject_;
  std::span<const Person> trusted_;
  const ApprovalRule& rule_;
  const Moment now_;
  std::vector<PublicKey> keys_;
  std::map<std::string, std::set<std::string>> roles_;  ///< of those who approved
  std::string emergency_;                               ///< who approved in an emergency
  ApprovalResult result_;
  CountedApprovals counted_;
  std::size_t next_ = 0;  ///< index of the next approval
};

}  // namespace

std::string sign_approval(const Approval& approval, const SigningKey& key) {
  require_complete(approval);
  const ApprovalSubject& subject = approval.subject;
  const bool usual = approval.kind == Approval::Kind::usual;
  Json predicate = {{"parent", subject.parent},
                    {"files", subject.files},
                    {"report", subject.report},
                    {"envelope", subject.envelope},
                    {"policy", subject.policy},
                    {"environment", subject.environment},
                    {"approver", approval.approver},
                    {"role", approval.role},
                    {"issued", moment_text(approval.issued)},
                    {"not_after", moment_text(approval.not_after)}};
  const std::string digest = subject.definition.substr(kDigestPrefix.size());
  Envelope envelope{.payload_type = std::string(kInTotoType),
                    .payload = canonical(statement({{subject.model, digest}}, usual ? kApprovalType : kEmergencyType,
                                                   std::move(predicate))),
                    .signatures = {}};
  add_signature(envelope, key);
  return canonical(json_of(envelope)) + '\n';
}

std::vector<Person> read_persons(std::string_view text, std::string_view what) {
  const Json json = parse_json(text, what);
  const Json& list = member(json, "persons", what);
  if (!list.is_array()) fail(Code::bad_input, "{}: 'persons': expected a list", what);
  std::vector<Person> persons;
  for (const Json& one : list) {
    const std::string& name = text_member(one, "name", what);
    if (name.empty()) fail(Code::bad_input, "{}: 'name' is empty", what);
    Person person{.key = PublicKey::from_pem(text_member(one, "key", what), fmt::format("{}: person '{}'", what, name)),
                  .name = name,
                  .roles = {}};
    const Json& roles = member(one, "roles", what);
    if (!roles.is_array()) fail(Code::bad_input, "{}: person '{}': 'roles': expected a list", what, name);
    for (const Json& role : roles) {
      if (!role.is_string()) fail(Code::bad_input, "{}: person '{}': 'roles': expected texts", what, name);
      person.roles.insert(role.get<std::string>());
    }
    for (const Person& other : persons) {
      if (other.key == person.key)
        fail(Code::bad_input, "{}: persons '{}' and '{}' have one key", what, other.name, name);
    }
    persons.push_back(std::move(person));
  }
  return persons;
}

ApprovalResult check_approvals(const ApprovalSubject& subject, std::span<const std::string> approvals,
                               std::span<const Person> trusted, const ApprovalRule& rule, Moment now) {
  if (rule.threshold == 0) fail(Code::bad_input, "approval rule: a threshold of 0 approves all: expected at least 1");
  if (rule.author.empty()) fail(Code::bad_input, "approval rule: the author is not named");
  ApprovalCount count(subject, trusted, rule, now);
  for (std::size_t i = 0; i < approvals.size(); ++i) count.add(approvals[i], fmt::format("approval {}", i + 1));
  return count.result();
}

CountedApprovals count_approvals(const ApprovalSubject& subject, std::span<const ApprovalFile> approvals,
                                 std::span<const Person> trusted, const std::string& author, bool compare_files,
                                 Moment now) {
  const ApprovalRule rule{.threshold = 1, .roles = {}, .author = author, .compare_files = compare_files};
  ApprovalCount count(subject, trusted, rule, now);
  for (const ApprovalFile& file : approvals) count.add(file.text, file.name);
  return count.counted();
}

std::string definition_in_approval(std::string_view text, std::string_view what) {
  const std::string payload = read_envelope(text, what).payload;
  const bool emergency = text_member(parse_json(payload, what), "predicateType", what) == kEmergencyType;
  return approval_from(payload, emergency ? Approval::Kind::emergency : Approval::Kind::usual, what).subject.definition;
}

}  // namespace frazil::govern
