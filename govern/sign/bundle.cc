#include "govern/sign/bundle.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include <frazil/text.h>

#include "govern/base/encoding.h"
#include "govern/base/error.h"
#include "govern/base/json.h"
#include "govern/sign/dsse.h"
#include "govern/sign/statement.h"

namespace frazil::govern {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kMediaType = "application/vnd.dev.sigstore.bundle.v0.3+json";
constexpr std::string_view kModelPredicate = "https://model_signing/signature/v1.0";
const std::vector<std::string>& default_ignored() {
  static const std::vector<std::string> kIgnored = {".git", ".gitattributes", ".github", ".gitignore"};
  return kIgnored;
}

void require_ecdsa(KeyKind kind) {
  if (kind != KeyKind::ed25519) return;
  fail(Code::bad_input, "model signatures need an ECDSA key, got Ed25519: 'frazil keygen' makes one of P-256");
}

/// The files that a path stands for: a folder's, or one.
struct SignedScope {
  Folder folder;
  std::string name;                 ///< of the model, for display
  std::optional<std::string> only;  ///< the only file

  explicit SignedScope(const std::string& path)
      : folder(fs::is_directory(path) ? path : place_of_file(path).folder),
        name(fs::weakly_canonical(path).filename().string()) {
    if (!fs::is_directory(path)) only = place_of_file(path).name;
    if (name.empty()) name = "model";
  }
  std::vector<Folder::Entry> entries(const std::vector<std::string>& ignored) const {
    if (only) return {{.name = *only, .regular = true}};
    return folder.list(ignored);
  }
  /// Returns the name of a path below the folder, or nullopt if it is elsewhere.
  std::optional<std::string> name_below(const std::string& path) const {
    if (path.empty() || only) return std::nullopt;
    const std::string below =
        fs::weakly_canonical(path).lexically_relative(fs::weakly_canonical(folder.path())).string();
    return name_fault(below).empty() ? std::optional(below) : std::nullopt;
  }
};

/// A signed file.
struct SignedResource {
  std::string name;
  Digest digest;
};

/// Returns the digest over the files' digests, which does not depend on names.
std::string digest_of_resources(std::span<const SignedResource> resources) {
  std::string bytes;
  for (const SignedResource& resource : resources) bytes += govern::text_of(resource.digest);
  return hex(sha256(bytes));
}

std::vector<SignedResource> resources_of(const SignedScope& scope, const std::vector<std::string>& ignored) {
  std::vector<SignedResource> resources;
  for (const Folder::Entry& entry : scope.entries(ignored)) {
    resources.push_back({.name = entry.name, .digest = scope.folder.hash(entry.name).digest});
  }
  if (resources.empty()) fail(Code::bad_input, "folder '{}': there is no file to sign", scope.folder.path());
  return resources;
}

Json statement_of(const SignedScope& scope, std::span<const SignedResource> resources,
                  const std::vector<std::string>& ignored) {
  Json list = Json::array();
  for (const SignedResource& resource : resources) {
    list.push_back({{"name", resource.name}, {"digest", hex(resource.digest)}, {"algorithm", "sha256"}});
  }
  const Json serialization = {
      {"method", "files"}, {"hash_type", "sha256"}, {"allow_symlinks", false}, {"ignore_paths", ignored}};
  return statement({{scope.name, digest_of_resources(resources)}}, kModelPredicate,
                   {{"resources", std::move(list)}, {"serialization", serialization}});
}

/// The content of a statement.
struct BundleManifest {
  std::vector<SignedResource> resources;
  std::vector<std::string> ignored;
};

SignedResource resource_from(const Json& json, std::string_view what) {
  const std::string& name = text_member(json, "name", what);
  if (const auto fault = name_fault(name); !fault.empty()) {
    fail(Code::bad_input, "{}: signed file '{}': {}", what, api::printable(name), fault);
  }
  if (const std::string& algorithm = text_member(json, "algorithm", what); algorithm != "sha256") {
    fail(Code::unsupported, "{}: signed file '{}': expected the digest algorithm 'sha256', got '{}'", what,
         api::printable(name), algorithm);
  }
  const auto digest = from_hex(text_member(json, "digest", what));
  SignedResource resource{.name = name, .digest = {}};
  if (!digest || digest->size() != resource.digest.size()) {
    fail(Code::bad_input, "{}: signed file '{}': expected a digest of 64 hexadecimal digits", what,
         api::printable(name));
  }
  std::ranges::copy(bytes_of(*digest), resource.digest.begin());
  return resource;
}

void require_distinct(const std::vector<SignedResource>& resources, std::string_view what) {
  std::vector<std::string> names;
  for (const SignedResource& resource : resources) names.push_back(resource.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) {
    fail(Code::bad_input, "{}: signed file '{}': it is listed twice", what, api::printable(*twice));
  }
}

std::string ignored_from(const Json& json, std::string_view what) {
  const std::string path = json.is_string() ? json.get<std::string>() : "";
  const bool pattern = path.find_first_of("*?[") != std::string::npos;
  if (!pattern && name_fault(path).empty()) return path;
  fail(Code::bad_input, "{}: 'ignore_paths': expected paths below the folder without patterns, got {}", what,
       api::printable(json.dump(-1, ' ', true, Json::error_handler_t::replace)));
}

std::vector<std::string> serialization_from(const Json& json, std::string_view what) {
  const std::string& method = text_member(json, "method", what);
  const std::string& hash = text_member(json, "hash_type", what);
  if (method != "files" || hash != "sha256") {
    fail(Code::unsupported, "{}: expected the serialization 'files' with 'sha256', got '{}' with '{}'; sign again so",
         what, api::printable(method), api::printable(hash));
  }
  const Json& links = member(json, "allow_symlinks", what);
  if (!links.is_boolean()) fail(Code::bad_input, "{}: 'allow_symlinks': expected true or false", what);
  if (links.get<bool>()) {
    fail(Code::unsupported, "{}: it follows symbolic links; replace them by copies, and sign again", what);
  }
  std::vector<std::string> ignored;
  const auto paths = json.find("ignore_paths");
  if (paths == json.end()) return ignored;
  if (!paths->is_array()) fail(Code::bad_input, "{}: 'ignore_paths': expected a list", what);
  for (const Json& path : *paths) ignored.push_back(ignored_from(path, what));
  return ignored;
}

BundleManifest manifest_from(const std::string& payload, std::string_view what) {
  const Statement signed_one = read_statement(payload, kModelPredicate, what);
  const Json& list = member(signed_one.predicate, "resources", what);
  if (!list.is_array() || list.empty()) {
    fail(Code::bad_input, "{}: 'resources': expected a list of at least one file", what);
  }
  BundleManifest manifest{.resources = {},
                          .ignored = serialization_from(member(signed_one.predicate, "serialization", what), what)};
  for (const Json& resource : list) manifest.resources.push_back(resource_from(resource, what));
  require_distinct(manifest.resources, what);
  const auto root = signed_one.subjects.begin();
  if (signed_one.subjects.size() != 1 || root->digest != digest_of_resources(manifest.resources)) {
    fail(Code::bad_input, "{}: 'subject': expected one, with the digest of the signed files' digests", what);
  }
  return manifest;
}

Envelope envelope_in(std::string_view bundle, std::string_view what) {
  const Json json = parse_json(bundle, what);
  if (const std::string& type = text_member(json, "mediaType", what); type != kMediaType) {
    fail(Code::bad_input, "{}: 'mediaType': expected '{}', got '{}'", what, kMediaType, api::printable(type));
  }
  const Json& material = member(json, "verificationMaterial", what);
  if (!member(material, "publicKey", what).is_object() || material.contains("certificate") ||
      material.contains("x509CertificateChain")) {
    fail(Code::bad_input, "{}: 'verificationMaterial': expected a public key, not certificates", what);
  }
  Envelope envelope = envelope_from(member(json, "dsseEnvelope", what), what);
  if (envelope.signatures.size() != 1) {
    fail(Code::bad_input, "{}: 'signatures': expected one, got {}", what, envelope.signatures.size());
  }
  return envelope;
}

/// Compares a folder with a manifest.
class FolderComparison {
 public:
  FolderComparison(const SignedScope& scope, const FolderVerifyOptions& options, VerifiedFolder& result)
      : scope_(scope), options_(options), result_(result) {}

  void run(const BundleManifest& manifest) {
    for (const SignedResource& resource : manifest.resources) signed_[resource.name] = resource.digest;
    for (const Folder::Entry& entry : scope_.entries(ignored_by(manifest))) compare(entry);
    for (const auto& [name, digest] : signed_) refuse("missing file", name, "it is signed, but it does not exist");
  }

 private:
  std::vector<std::string> ignored_by(const BundleManifest& manifest) const {
    std::vector<std::string> ignored = default_ignored();
    std::ranges::copy(manifest.ignored, std::back_inserter(ignored));
    if (const auto bundle = scope_.name_below(options_.bundle_path)) ignored.push_back(*bundle);
    return ignored;
  }

  void compare(const Folder::Entry& entry) {
    const auto known = signed_.find(entry.name);
    if (!entry.regular) return refuse("special file", entry.name, "it is a link or not a regular file");
    if (known == signed_.end()) return refuse("unsigned file", entry.name, "it is not signed");
    const Digest expected = known->second;
    signed_.erase(known);
    try {
      HashedFile file = scope_.folder.hash(entry.name);
      if (file.digest != expected) return refuse("changed file", entry.name, "it differs from the signed one");
      if (!options_.keep_open) file.file = File();
      result_.files.push_back(std::move(file));
    } catch (const Error& error) {
      if (error.code() != Code::bad_input) throw;
      result_.violations.push_back({.rule = "unreadable file",
                                    .object = "file '" + api::printable(entry.name) + "'",
                                    .reason = reason_in(error.what())});
    }
  }
  void refuse(const char* rule, const std::string& name, const char* reason) {
    result_.violations.push_back({.rule = rule, .object = "file '" + api::printable(name) + "'", .reason = reason});
  }
  /// Returns the text of an error without the name of the file.
  static std::string reason_in(std::string_view text) {
    const std::size_t at = text.find("': ");
    return std::string(at == std::string_view::npos ? text : text.substr(at + 3));
  }

  const SignedScope& scope_;
  const FolderVerifyOptions& options_;
  VerifiedFolder& result_;
  std::map<std::string, Digest> signed_;
};

VerifiedFolder refused_folder(const char* rule, std::string_view what, std::string_view reason) {
  VerifiedFolder result;
  result.violations.push_back({.rule = rule, .object = std::string(what), .reason = std::string(reason)});
  return result;
}

}  // namespace

std::string default_bundle_path(const std::string& path) {
  return fs::is_directory(path) ? (fs::path(path) / kBundleName).string() : path + kBundleEnding;
}

std::string sign_folder(const std::string& path, const SigningKey& key, const std::string& bundle_path) {
  require_ecdsa(key.public_key().kind());
  const SignedScope scope(path);
  std::vector<std::string> ignored = default_ignored();
  if (const auto bundle = scope.name_below(bundle_path)) ignored.push_back(*bundle);
  Envelope envelope{.payload_type = std::string(kInTotoType),
                    .payload = canonical(statement_of(scope, resources_of(scope, ignored), ignored)),
                    .signatures = {}};
  add_signature(envelope, key);
  const Json bundle = {{"mediaType", kMediaType},
                       {"verificationMaterial", {{"publicKey", {{"hint", key.public_key().id()}}}}},
                       {"dsseEnvelope", json_of(envelope)}};
  return canonical(bundle) + '\n';
}

const HashedFile* VerifiedFolder::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(files, name, {}, &HashedFile::name);
  return at != files.end() && at->name == name ? &*at : nullptr;
}

VerifiedFolder verify_folder(const std::string& path, std::string_view bundle, std::string_view what,
                             std::span<const PublicKey> trusted, const FolderVerifyOptions& options) {
  for (const PublicKey& key : trusted) require_ecdsa(key.kind());
  const SignedScope scope(path);
  VerifiedFolder result;
  BundleManifest manifest;
  try {
    const auto verified = verify_envelope(envelope_in(bundle, what), kInTotoType, trusted, 1);
    if (!verified) return refused_folder("signature", what, verified.error());
    manifest = manifest_from(verified->payload, what);
    result.signer = verified->signers.front();
    result.statement = digest_text(sha256(verified->payload));
  } catch (const Error& error) {
    const std::string_view text = error.what();
    return refused_folder("bundle", what, text.substr(text.starts_with(what) ? what.size() + 2 : 0));
  }
  FolderComparison(scope, options, result).run(manifest);
  if (!result.accepted()) result.files.clear();
  return result;
}

}  // namespace frazil::govern
