// Reads bytes as what governance reads: the first byte selects a bundle, a statement that is signed first, an envelope
// of edits, a report, an approval, a signed document, or an ONNX file. Errors are lines of text with a code for bad
// input; an accepted folder is the one that is there.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <frazil/error.h>
#include <frazil/policy.h>

#include "govern/base/digest.h"
#include "govern/base/file.h"
#include "govern/sign/approval.h"
#include "govern/sign/bundle.h"
#include "govern/sign/document.h"
#include "govern/sign/dsse.h"
#include "govern/sign/edit_envelope.h"
#include "require.h"

namespace frazil::fuzz {
namespace {

using namespace govern;

constexpr std::string_view kContent = "a graph";

/// A folder with one file, a key, and a valid bundle.
struct Signed {
  std::string folder;
  SigningKey key = SigningKey::generate(KeyKind::ecdsa_p256);
  Json bundle;

  Signed() {
    std::string name = (std::filesystem::temp_directory_path() / "frazil-fuzz.XXXXXX").string();
    folder = mkdtemp(name.data());
    write_file(folder + "/a", kContent);
    bundle = parse_json(sign_folder(folder, key, ""), "bundle");
  }
  ~Signed() { std::filesystem::remove_all(folder); }
};

const Signed& known() {
  static const Signed kKnown;
  return kKnown;
}

void verify(const std::string& bundle) {
  const PublicKey key = known().key.public_key();
  const VerifiedFolder verified = verify_folder(known().folder, bundle, "bundle", std::span(&key, 1));
  if (!verified.accepted()) {
    require(verified.files.empty(), "files of a folder that is not accepted");
    return;
  }
  require(verified.files.size() == 1 && verified.files[0].name == "a", "another file");
  require(verified.files[0].digest == sha256(kContent), "another digest");
}

/// Verifies the bytes as a statement that the trusted key signed.
void verify_statement(std::string_view statement) {
  Envelope envelope{.payload_type = std::string(kInTotoType), .payload = std::string(statement), .signatures = {}};
  add_signature(envelope, known().key);
  Json bundle = known().bundle;
  bundle["dsseEnvelope"] = json_of(envelope);
  verify(canonical(bundle));
}

void read_envelope_of_edits(std::string_view text) {
  const EditEnvelope envelope = read_edit_envelope(text, "envelope");
  const std::string written = text_of(envelope);
  require(read_edit_envelope(written, "envelope") == envelope, "another envelope after writing it");
  require(contains(envelope, envelope).empty(), "an envelope that does not contain itself: {}", written);
}

void read_report(std::string_view text) {
  static const EditEnvelope kEnvelope = {.operators = {{"", "*", 1, 21}},
                                         .models = {{"m", ""}},
                                         .endpoints = {{"http", "a", {}}},
                                         .code = {},
                                         .extents = {{"n", 4}},
                                         .worst_cost_ns = 10,
                                         .worst_memory_bytes = 10,
                                         .max_steps = 5,
                                         .influence = {{"*", {"clock"}}}};
  (void)contains(kEnvelope, parse_json(text, "report"), "report");
}

void read_approval(std::string_view text) {
  Envelope envelope{.payload_type = std::string(kInTotoType), .payload = std::string(text), .signatures = {}};
  add_signature(envelope, known().key);
  const Person person{.key = known().key.public_key(), .name = "p", .roles = {"r"}};
  const std::string approvals[] = {canonical(json_of(envelope)), std::string(text)};
  const auto result =
      check_approvals({.model = "m",
                       .definition = "sha256:" + std::string(64, '0'),
                       .parent = {},
                       .files = {},
                       .report = {},
                       .envelope = {},
                       .policy = {},
                       .environment = "e"},
                      approvals, std::span(&person, 1), {.threshold = 2, .roles = {}, .author = "a"}, 0);
  require(!result.approved, "two persons, but there is one");
}

void read_document(std::string_view text) {
  const PublicKey key = known().key.public_key();
  (void)verify_document(text, kPolicyKind, std::span(&key, 1), 1, 0, "document");
  (void)read_persons(text, "persons");
}

void read(std::uint8_t kind, std::string_view text) {
  switch (kind % 7) {
    case 0: return verify(std::string(text));
    case 1: return verify_statement(text);
    case 2: return read_envelope_of_edits(text);
    case 3: return read_report(text);
    case 4: return read_approval(text);
    case 5: return read_document(text);
    default: {
      const api::FileFacts facts{.content = std::as_bytes(std::span(text))};
      (void)facts.operators();
      (void)facts.external_locations();
    }
  }
}

}  // namespace
}  // namespace frazil::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using frazil::api::Code;
  if (size == 0) return 0;
  try {
    frazil::fuzz::read(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  } catch (const frazil::api::Error& error) {
    const bool usual = error.code() == Code::bad_input || error.code() == Code::bad_model;
    frazil::fuzz::require(usual, "another code: {}", error.what());
  }
  return 0;
}
