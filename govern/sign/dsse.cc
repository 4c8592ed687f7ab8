#include "govern/sign/dsse.h"

#include <algorithm>

#include "govern/base/encoding.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kMaxEnvelopeSignatures = 64;

/// Decodes base64 of either alphabet.
std::string base64_in_envelope(const Json& object, const char* name, std::string_view what) {
  std::string text = text_member(object, name, what);
  if (text.find_first_of("+/") == std::string::npos) {
    std::ranges::replace(text, '-', '+');
    std::ranges::replace(text, '_', '/');
  }
  const auto bytes = from_base64(text);
  if (!bytes) fail(Code::bad_input, "{}: '{}': expected base64 with padding", what, name);
  return *bytes;
}

Envelope::Signature signature_from(const Json& json, std::string_view what) {
  Envelope::Signature signature{.key_id = {}, .bytes = base64_in_envelope(json, "sig", what)};
  const auto hint = json.find("keyid");
  if (hint == json.end() || hint->is_null()) return signature;
  signature.key_id = text_member(json, "keyid", what);
  return signature;
}

}  // namespace

std::string pae(std::string_view payload_type, std::string_view payload) {
  std::string text = fmt::format("DSSEv1 {} {} {} ", payload_type.size(), payload_type, payload.size());
  return text.append(payload);
}

Envelope envelope_from(const Json& json, std::string_view what) {
  Envelope envelope{.payload_type = text_member(json, "payloadType", what),
                    .payload = base64_in_envelope(json, "payload", what),
                    .signatures = {}};
  const Json& list = member(json, "signatures", what);
  if (!list.is_array()) fail(Code::bad_input, "{}: 'signatures': expected a list, got {}", what, list.type_name());
  if (list.size() > kMaxEnvelopeSignatures) {
    fail(Code::bad_input, "{}: 'signatures': expected at most {}, got {}", what, kMaxEnvelopeSignatures, list.size());
  }
  for (const Json& one : list) envelope.signatures.push_back(signature_from(one, what));
  return envelope;
}

Envelope read_envelope(std::string_view text, std::string_view what) {
  return envelope_from(parse_json(text, what), what);
}

Json json_of(const Envelope& envelope) {
  Json signatures = Json::array();
  for (const auto& [key_id, bytes] : envelope.signatures) {
    signatures.push_back({{"keyid", key_id}, {"sig", base64(bytes_of(bytes))}});
  }
  return {{"payload", base64(bytes_of(envelope.payload))},
          {"payloadType", envelope.payload_type},
          {"signatures", std::move(signatures)}};
}

void add_signature(Envelope& envelope, const SigningKey& key) {
  const PublicKey signer = key.public_key();
  if (!signers_of(envelope, std::span(&signer, 1)).empty()) return;
  envelope.signatures.push_back(
      {.key_id = signer.id(), .bytes = key.sign(pae(envelope.payload_type, envelope.payload))});
}

std::vector<std::size_t> signers_of(const Envelope& envelope, std::span<const PublicKey> keys) {
  const std::string message = pae(envelope.payload_type, envelope.payload);
  std::vector<std::size_t> signers;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (std::ranges::any_of(keys.first(i), [&](const PublicKey& earlier) { return earlier == keys[i]; })) continue;
    const auto is_by_key = [&](const auto& signature) { return keys[i].verify(message, signature.bytes); };
    if (std::ranges::any_of(envelope.signatures, is_by_key)) signers.push_back(i);
  }
  return signers;
}

std::expected<VerifiedPayload, std::string> verify_envelope(const Envelope& envelope, std::string_view payload_type,
                                                            std::span<const PublicKey> keys, std::size_t threshold) {
  if (threshold == 0) fail(Code::bad_input, "a threshold of 0 signatures verifies nothing: expected at least 1");
  if (envelope.payload_type != payload_type) {
    return std::unexpected(fmt::format("its payload type is '{}', expected '{}'", envelope.payload_type, payload_type));
  }
  VerifiedPayload verified{.payload = envelope.payload, .signers = signers_of(envelope, keys)};
  if (verified.signers.size() >= threshold) return verified;
  return std::unexpected(fmt::format("it has valid signatures of {} of the {} trusted keys, expected at least {}",
                                     verified.signers.size(), keys.size(), threshold));
}

}  // namespace frazil::govern
