#include "govern/gate/policy_source.h"

#include <algorithm>
#include <set>

#include "govern/base/error.h"
#include "govern/base/file.h"

namespace frazil::govern {
namespace {

constexpr std::uint64_t kMaxSignedPolicy = 16U << 20U;  ///< bytes

/// Returns the names of the persons who signed a document, sorted.
std::vector<std::string> signer_names(const Document& document, const std::vector<Person>& trusted) {
  std::set<std::string> names;
  for (const std::size_t signer : document.signers) names.insert(trusted[signer].name);
  return {names.begin(), names.end()};
}

std::vector<Person> with_role(const std::vector<Person>& trusted, std::string_view role) {
  std::vector<Person> chosen;
  for (const Person& person : trusted) {
    if (person.roles.contains(std::string(role))) chosen.push_back(person);
  }
  return chosen;
}

/// Returns the policy in a verified document. Its serial must be that of the document, so that both mean one edition.
std::shared_ptr<const Policy> policy_of(const Document& document, const std::string& path) {
  auto policy = Policy::read(document.content, path, document.not_after + 1);
  if (policy->serial() == document.serial) return policy;
  fail(Code::bad_input, "file '{}': it was signed with serial {}, but policy '{}' has serial {}", path, document.serial,
       policy->name(), policy->serial());
}

}  // namespace

bool is_signed_document(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

Document verified_document(std::string_view text, std::string_view kind, std::string_view role, std::size_t signers,
                           const std::vector<Person>& trusted, std::string_view what) {
  const std::vector<Person> persons = with_role(trusted, role);
  std::vector<PublicKey> keys;
  for (const Person& person : persons) keys.push_back(person.key);
  if (keys.size() < signers) {
    fail(Code::bad_input, "{}: {} signatures are demanded, but only {} trusted keys have the role '{}'", what, signers,
         keys.size(), role);
  }
  auto document = verify_document(text, kind, keys, signers, moment_now(), what);
  if (!document) fail(Code::bad_input, "{}: {}", what, document.error());
  const std::size_t count = signer_names(*document, persons).size();
  if (count < signers) {
    fail(Code::bad_input, "{}: {} persons with the role '{}' signed it, expected {}", what, count, role, signers);
  }
  for (std::size_t& signer : document->signers) {
    const auto at = std::ranges::find(trusted, persons[signer].key, &Person::key);
    signer = static_cast<std::size_t>(at - trusted.begin());
  }
  return std::move(*document);
}

/// A policy before its serial is accepted.
struct PolicySource::Unaccepted {
  ReadPolicy read;
  std::optional<Document> document;  ///< if it is signed
};

PolicySource::PolicySource(PolicySourceOptions options) : options_(std::move(options)) {
  if (options_.signers == 0 || options_.serials != nullptr) return;
  fail(Code::bad_input, "policy '{}': signatures are demanded, and there is no file for serials", options_.path);
}

PolicySource::Unaccepted PolicySource::read_unaccepted() const {
  const std::string text = read_file(options_.path, kMaxSignedPolicy);
  const std::string what = "file '" + options_.path + "'";
  Unaccepted made;
  if (options_.signers == 0 && is_signed_document(text)) {
    fail(Code::bad_input, "{}: it is a signed document; demand its signatures (--policy-signers)", what);
  }
  if (options_.signers == 0) {
    made.read.policy = Policy::read(text, options_.path);
  } else {
    if (!is_signed_document(text)) {
      fail(Code::bad_input,
           "{}: it is not signed, and the signatures of {} persons are demanded: 'frazil sign --as policy'", what,
           options_.signers);
    }
    made.document = verified_document(text, kPolicyKind, kPolicyRole, options_.signers, options_.trusted, what);
    made.read.policy = policy_of(*made.document, options_.path);
    made.read.event["signers"] = signer_names(*made.document, options_.trusted);
  }
  if (options_.audit != nullptr) made.read.event["blobs"] = {options_.audit->put_blob(text)};
  return made;
}

void PolicySource::accept(const Unaccepted& read) {
  if (!read.document) return;
  if (const auto accepted = options_.serials->accept(*read.document); !accepted) {
    fail(Code::bad_input, "file '{}': {}", options_.path, accepted.error());
  }
}

ReadPolicy PolicySource::read() {
  const std::scoped_lock lock(mutex_);
  Unaccepted read = read_unaccepted();
  accept(read);
  return std::move(read.read);
}

PolicySource::Reloaded PolicySource::reload(Governor& governor) {
  const std::scoped_lock lock(mutex_);
  Unaccepted read = read_unaccepted();
  const auto before = governor.policy(), &after = read.read.policy;
  if (after->digest() == before->digest() && after->until() == before->until()) return {false, before};
  governor.check_replacement(*after);
  accept(read);
  governor.replace(after, std::move(read.read.event));
  return {true, after};
}

}  // namespace frazil::govern
