#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "govern/base/encoding.h"
#include "govern/base/file.h"
#include "govern/policy/policy.h"
#include "govern/sign/approval.h"
#include "govern/sign/bundle.h"
#include "govern/sign/document.h"
#include "govern/sign/edit_envelope.h"
#include "govern/sign/secret_file.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/govern_files.h"
#include "tool/option_table.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

using govern::Moment, govern::PublicKey, govern::SigningKey;

constexpr const char* kModelKind = "model";
constexpr const char* kDocumentEnding = ".dsse";

struct SignOptions {
  std::string path, key, bundle, kind = kModelKind;
  std::uint64_t serial = 0;
  std::uint64_t days = 90;
};

/// Checks that a policy can be read and that the signed serial is its own. Without a serial, sets it.
void check_policy_to_sign(const std::string& text, SignOptions& options) {
  const std::uint64_t serial = govern::Policy::read(text, options.path)->serial();
  if (options.serial == 0) options.serial = serial;
  if (options.serial == serial) return;
  fail(Code::bad_input, "--serial {}: the policy '{}' has serial {}", options.serial, options.path, serial);
}

/// Reads a document's content. Persons are checked; an envelope is checked and written canonically.
std::string content_of(const std::string& path, const std::string& kind) {
  std::string text = govern::read_file(path, kMaxGovernFile);
  const std::string what = "file '" + path + "'";
  if (kind == govern::kPersonsKind) (void)govern::read_persons(text, what);
  return kind == govern::kEnvelopeKind ? govern::text_of(govern::read_edit_envelope(text, what)) : text;
}

/// Returns the envelope to which a signature is added: the one in the file, or else a new one.
govern::Envelope document_to_sign(const SignOptions& options, const std::string& to) {
  const govern::Document wanted{.kind = options.kind,
                                .serial = options.serial,
                                .not_after = govern::moment_now() + static_cast<Moment>(options.days) * kSecondsPerDay,
                                .content = content_of(options.path, options.kind)};
  if (!std::filesystem::exists(to)) return govern::envelope_of(wanted);
  govern::Envelope there = govern::read_envelope(govern::read_file(to, kMaxGovernFile), "file '" + to + "'");
  const govern::Json payload = govern::parse_json(there.payload, "file '" + to + "'");
  const bool same = there.payload_type == govern::envelope_of(wanted).payload_type &&
                    govern::text_member(payload, "content", to) == wanted.content &&
                    govern::number_member(payload, "serial", to) == wanted.serial;
  if (!same) {
    fail(Code::bad_input, "file '{}': it is another edition or document; remove it, or write to another file with -o",
         to);
  }
  return there;
}

int sign(SignOptions options) {
  const SigningKey key =
      SigningKey::from_pem(govern::read_file(options.key, kMaxKeyFile), "file '" + options.key + "'");
  if (options.kind == kModelKind) {
    const std::string to = options.bundle.empty() ? govern::default_bundle_path(options.path) : options.bundle;
    govern::write_file(to, govern::sign_folder(options.path, key, to));
    print_line(fmt::format("{}: signed by key {}", to, key.public_key().id()));
    return kDone;
  }
  const std::string to = options.bundle.empty() ? options.path + kDocumentEnding : options.bundle;
  if (options.kind == govern::kPolicyKind) {
    check_policy_to_sign(govern::read_file(options.path, kMaxGovernFile), options);
  }
  if (options.serial == 0) fail(Code::bad_input, "--serial: a {} needs a number of at least 1", options.kind);
  govern::Envelope envelope = document_to_sign(options, to);
  govern::add_signature(envelope, key);
  govern::write_file(to, govern::canonical(govern::json_of(envelope)) + '\n');
  print_line(
      fmt::format("{}: {} of serial {}, signatures: {}", to, options.kind, options.serial, envelope.signatures.size()));
  return kDone;
}

struct VerifyCommand {
  std::string path, bundle, kind = kModelKind, serials;
  std::vector<std::string> keys;
  std::size_t threshold = 1;
  bool json = false;
};

/// Prints the reasons why something is not accepted, and returns the exit code.
int print_violations(const std::vector<govern::Violation>& violations, bool json) {
  Json list = Json::array();
  for (const govern::Violation& violation : violations) {
    list.push_back({{"rule", violation.rule}, {"object", violation.object}, {"reason", violation.reason}});
    if (!json) print_line(one_line(violation.text()));
  }
  if (json) print_json({{"accepted", false}, {"violations", std::move(list)}});
  return kFailed;
}

int verify_model(const VerifyCommand& options, const std::vector<PublicKey>& keys) {
  const std::string bundle = options.bundle.empty() ? govern::default_bundle_path(options.path) : options.bundle;
  const auto verified =
      govern::verify_folder(options.path, govern::read_file(bundle, kMaxGovernFile), "signature '" + bundle + "'", keys,
                            {.bundle_path = bundle, .keep_open = false});
  if (!verified.accepted()) return print_violations(verified.violations, options.json);
  const std::string signer = keys[verified.signer].id();
  if (!options.json) {
    print_line(fmt::format("{}: as key {} signed it, files: {}", options.path, signer, verified.files.size()));
    return kDone;
  }
  Json files = Json::array();
  for (const govern::HashedFile& file : verified.files) {
    files.push_back({{"name", file.name}, {"digest", govern::digest_text(file.digest)}, {"bytes", file.state.size}});
  }
  print_json({{"accepted", true}, {"signer", signer}, {"statement", verified.statement}, {"files", std::move(files)}});
  return kDone;
}

int verify_signed_document(const VerifyCommand& options, const std::vector<PublicKey>& keys) {
  const std::string what = "file '" + options.path + "'";
  const auto refused = [&](const std::string& reason) {
    return print_violations({{.rule = "signature", .object = what, .reason = reason}}, options.json);
  };
  const auto document = govern::verify_document(govern::read_file(options.path, kMaxGovernFile), options.kind, keys,
                                                options.threshold, govern::moment_now(), what);
  if (!document) return refused(document.error());
  if (!options.serials.empty()) {
    const auto accepted = govern::SerialStore(options.serials).accept(*document);
    if (!accepted) return refused(accepted.error());
  }
  const std::string until = govern::moment_text(document->not_after);
  if (options.json) {
    print_json(
        {{"accepted", true}, {"serial", document->serial}, {"digest", document->digest()}, {"not_after", until}});
    return kDone;
  }
  print_line(fmt::format("{}: {} of serial {}, {}, valid until {}", options.path, options.kind, document->serial,
                         document->digest(), until));
  return kDone;
}

int verify(const VerifyCommand& options) {
  if (!std::filesystem::exists(options.path)) fail(Code::bad_input, "'{}': no such file or folder", options.path);
  const std::vector<PublicKey> keys = public_keys(options.keys);
  return options.kind == kModelKind ? verify_model(options, keys) : verify_signed_document(options, keys);
}

struct KeygenOptions {
  std::string name, kind = "p256";
};

int keygen(const KeygenOptions& options) {
  static const std::map<std::string, govern::KeyKind> kKinds = {{"p256", govern::KeyKind::ecdsa_p256},
                                                                {"p384", govern::KeyKind::ecdsa_p384},
                                                                {"p521", govern::KeyKind::ecdsa_p521},
                                                                {"ed25519", govern::KeyKind::ed25519}};
  const SigningKey key = SigningKey::generate(kKinds.at(options.kind));
  const std::string secret = options.name + ".pem", open = options.name + ".pub.pem";
  if (!govern::create_secret_file(secret, govern::bytes_of(key.pem()))) {
    fail(Code::bad_input, "file '{}': it exists; a key is not replaced", secret);
  }
  govern::write_file(open, key.public_key().pem());
  print_line(fmt::format("{}: the private key; {}: the public key {}", secret, open, key.public_key().id()));
  return kDone;
}

void add_kind(CLI::App& command, std::string& kind) {
  command.add_option("--as", kind, "What PATH is: a model, or a document of governance")
      ->type_name("model|policy|envelope|persons")
      ->check(CLI::IsMember({kModelKind, "policy", "envelope", "persons"}))
      ->capture_default_str();
}

}  // namespace

void add_sign(CLI::App& app, Action& action) {
  auto options = std::make_shared<SignOptions>();
  CLI::App* command =
      app.add_subcommand("sign", "Sign a model folder, a file, a policy, an envelope or a list of persons");
  command->add_option("PATH", options->path, "A folder or a file")->required();
  command->option_defaults()->group(group::kInputs);
  command->add_option("--key", options->key, "A private key in PEM form; models need ECDSA")
      ->type_name("PEM")
      ->required();
  add_kind(*command, options->kind);
  command
      ->add_option("--serial", options->serial,
                   "Documents: the edition, higher than all before; that of a policy if not given")
      ->type_name("N");
  command->add_option("--days", options->days, "Documents: days of validity, set by the first signature")
      ->type_name("N")
      ->check(CLI::Range(1, 36500))
      ->capture_default_str();
  command->option_defaults()->group(group::kOutput);
  command->add_option("-o,--output", options->bundle, "The signature to write")
      ->type_name("FILE")
      ->default_str("PATH/model.sig, PATH.sig for a file, PATH.dsse for a document");
  command->footer(
      "A model's signature is an OpenSSF Model Signing bundle of method 'key'. A document collects signatures: each "
      "signer runs the command on the same file.\n\n"
      "Examples:\n"
      "  frazil sign models/bert --key release.pem\n"
      "  frazil sign rules.policy --as policy --serial 7 --key alice.pem");
  command->callback([options, &action] { action = [options] { return sign(*options); }; });
}

void add_verify(CLI::App& app, Action& action) {
  auto options = std::make_shared<VerifyCommand>();
  CLI::App* command = app.add_subcommand("verify", "Verify the signature of a model folder, a file or a document");
  command->add_option("PATH", options->path, "A folder or a file; with --as, a signed document")->required();
  command->option_defaults()->group(group::kInputs);
  command->add_option("--key", options->keys, "A trusted public key or certificate in PEM form; may be repeated")
      ->type_name("PEM")
      ->allow_extra_args(false)
      ->required();
  add_kind(*command, options->kind);
  command->add_option("--signature", options->bundle, "The signature of a model")
      ->type_name("FILE")
      ->default_str("PATH/model.sig, PATH.sig for a file");
  command->add_option("--threshold", options->threshold, "Documents: distinct keys that must have signed")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--serials", options->serials, "Documents: a file of the highest serials; refuses older ones")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Write one JSON object, alone on the last line of stdout")
      ->group(group::kOutput);
  command->footer(
      "Every file of a folder must be signed, and every signed file must exist. Exit code 1: a file or the signature "
      "is not as expected; a line names it.\n\n"
      "Examples:\n"
      "  frazil verify models/bert --key release.pub.pem\n"
      "  frazil verify rules.policy.dsse --as policy --threshold 2 --key alice.pub.pem --key bob.pub.pem");
  command->callback([options, &action] { action = [options] { return verify(*options); }; });
}

void add_keygen(CLI::App& app, Action& action) {
  auto options = std::make_shared<KeygenOptions>();
  CLI::App* command = app.add_subcommand("keygen", "Make a pair of keys for signatures");
  command->option_defaults()->group(group::kOutput);
  command->add_option("-o,--output", options->name, "Writes NAME.pem, with mode 0600, and NAME.pub.pem")
      ->type_name("NAME")
      ->required();
  command->add_option("--kind", options->kind, "The algorithm: ECDSA on a NIST curve, or Ed25519, not for models")
      ->type_name("p256|p384|p521|ed25519")
      ->check(CLI::IsMember({"p256", "p384", "p521", "ed25519"}))
      ->capture_default_str();
  command->footer("Example:\n  frazil keygen -o release");
  command->callback([options, &action] { action = [options] { return keygen(*options); }; });
}

}  // namespace frazil::tool
