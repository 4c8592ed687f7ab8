#include "govern/gate/load_signature.h"

#include <filesystem>

#include "govern/base/digest.h"
#include "govern/base/error.h"
#include "govern/base/file.h"
#include "govern/sign/bundle.h"

namespace frazil::govern {
namespace {

constexpr std::uint64_t kMaxBundle = std::uint64_t{64} << 20;

/// Returns the keys of persons that can sign models.
std::pair<std::vector<PublicKey>, std::vector<std::string>> model_keys(std::span<const Person> trusted) {
  std::pair<std::vector<PublicKey>, std::vector<std::string>> keys;
  for (const Person& person : trusted) {
    if (person.key.kind() == KeyKind::ed25519) continue;
    keys.first.push_back(person.key);
    keys.second.push_back(person.name);
  }
  return keys;
}

LoadSignature verified(const std::string& path, const std::string& bundle_path, std::span<const Person> trusted) {
  LoadSignature made{.state = "untrusted"};
  const auto [keys, names] = model_keys(trusted);
  if (keys.empty()) return made;
  try {
    const std::string bundle = read_file(bundle_path, kMaxBundle);
    const VerifiedFolder folder =
        verify_folder(path, bundle, bundle_path, keys, {.bundle_path = bundle_path, .keep_open = false});
    if (!folder.accepted()) return made;
    for (const HashedFile& file : folder.files) made.files[file.name] = digest_text(file.digest);
    made.valid = true;
    made.state = "valid";
    made.signer = names[folder.signer];
  } catch (const Error&) {
    made.files.clear();
  }
  return made;
}

}  // namespace

void LoadSignature::require(std::string_view name, std::string_view digest) {
  const auto file = files.find(name);
  if (!valid || (file != files.end() && file->second == digest)) return;
  valid = false;
  state = "incomplete";
  signer.clear();
}

Json LoadSignature::facts() const {
  Json facts = {{"valid", valid}, {"state", state}};
  if (valid) facts["signer"] = signer;
  return facts;
}

LoadSignature signature_of_model(const std::string& path, std::string_view digest, std::span<const Person> trusted) {
  if (path.empty()) return {};
  const std::filesystem::path file(path);
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  std::error_code error;
  LoadSignature made;
  if (const std::string own = default_bundle_path(path); std::filesystem::exists(own, error)) {
    made = verified(path, own, trusted);
  } else if (const std::string whole = default_bundle_path(folder); std::filesystem::exists(whole, error)) {
    made = verified(folder, whole, trusted);
  }
  made.require(file.filename().string(), digest);
  return made;
}

}  // namespace frazil::govern
