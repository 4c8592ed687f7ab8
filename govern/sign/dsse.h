#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "govern/base/json.h"
#include "govern/base/key.h"

// Dead Simple Signing Envelopes, protocol 1.0 (secure-systems-lab/dsse).
namespace frazil::govern {

/// The payload type of in-toto statements.
inline constexpr std::string_view kInTotoType = "application/vnd.in-toto+json";

/// Bytes with a type and signatures over both.
struct Envelope {
  struct Signature {
    std::string key_id;  ///< a hint, which decides nothing; may be empty
    std::string bytes;
  };
  std::string payload_type, payload;
  std::vector<Signature> signatures;
};

/// Returns the bytes that are signed: the pre-authentication encoding of a type and a payload.
std::string pae(std::string_view payload_type, std::string_view payload);

/// Reads an envelope. `what` names it in errors. Throws Code::bad_input if a member is missing or has another type, for
/// a text that is not base64 in the standard or the URL-safe alphabet, and for more than 64 signatures. Other members
/// are ignored.
Envelope envelope_from(const Json& json, std::string_view what);
Envelope read_envelope(std::string_view text, std::string_view what);
Json json_of(const Envelope& envelope);

/// Adds a signature of the key, with PublicKey::id() as the hint, unless the key has signed already.
void add_signature(Envelope& envelope, const SigningKey& key);

/// Returns the indices of the keys that have a valid signature, ascending. A key that occurs twice in `keys` is counted
/// once, by its first index.
std::vector<std::size_t> signers_of(const Envelope& envelope, std::span<const PublicKey> keys);

/// A payload whose signatures were verified. Parse these bytes, and no others.
struct VerifiedPayload {
  std::string payload;
  std::vector<std::size_t> signers;  ///< indices of keys
};
/// Verifies that at least `threshold` distinct keys signed a payload of this type. Returns the reason if not. A
/// threshold of 0 throws Code::bad_input.
std::expected<VerifiedPayload, std::string> verify_envelope(const Envelope& envelope, std::string_view payload_type,
                                                            std::span<const PublicKey> keys, std::size_t threshold);

}  // namespace frazil::govern
