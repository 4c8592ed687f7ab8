#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "govern/base/digest.h"
#include "govern/base/key.h"

// Signed notes (C2SP signed-note), checkpoints (tlog-checkpoint) and cosignatures (tlog-cosignature).
namespace frazil::govern {

inline constexpr std::uint64_t kMaxNoteBytes = 128 * 1024;

/// The types of signatures that this version makes and verifies. Others are ignored, as the specification asks.
enum class SignatureType : std::uint8_t { ed25519 = 0x01, cosignature = 0x04 };

/// A line of signatures below a note.
struct NoteSignature {
  std::string name;       ///< of the key
  std::uint32_t key_id;   ///< signature_key_id()
  std::string signature;  ///< without the id
};

struct Note {
  std::string text;  ///< with its final newline
  std::vector<NoteSignature> signatures;
};

/// Throws Code::bad_input, with `what` as the name of the text, for a text that is not a signed note.
Note parse_note(std::string_view text, std::string_view what);
/// Parses lines of signatures alone. Throws as parse_note().
std::vector<NoteSignature> parse_signatures(std::string_view lines, std::string_view what);
std::string format_note(const Note& note);
std::string format_signature(const NoteSignature& signature);

/// Returns whether the text may name a key: not empty, without spaces, control characters and '+'.
bool is_key_name(std::string_view name);
/// Returns the first four bytes of SHA-256(name, newline, type, 32 bytes of the key).
std::uint32_t signature_key_id(std::string_view name, SignatureType type, const PublicKey& key);

/// A public key with a name, in the form of signed-note: "example.com/log+cd5b8bce+ARpU...".
struct VerifierKey {
  std::string name;
  SignatureType type;
  PublicKey key;

  /// Throws Code::bad_input for another text, another type, and an id that is not the key's.
  static VerifierKey parse(std::string_view text, std::string_view what);
  std::string text() const;
  std::uint32_t id() const { return signature_key_id(name, type, key); }
};

struct Checkpoint {
  std::string origin;
  std::uint64_t size = 0;
  Digest root = {};

  /// Returns the text of the note.
  std::string text() const;
  /// Parses the text of a note. Ignores extension lines. Throws Code::bad_input.
  static Checkpoint parse(std::string_view text, std::string_view what);
};

/// Signs the text of a note with an Ed25519 key (type 0x01).
NoteSignature sign_note(std::string_view text, const std::string& name, const SigningKey& key);
/// Signs a checkpoint's text as a witness (type 0x04). `time` is in seconds since 1970.
NoteSignature cosign(std::string_view text, const std::string& name, const SigningKey& key, std::uint64_t time);

/// The result of looking for a key's signature.
enum class SignatureState : std::uint8_t { absent, valid, invalid };
/// Verifies the signature of a key, of either type, if the note has it.
SignatureState verify_signature(const Note& note, const VerifierKey& key);
/// Returns the time of a cosignature in seconds since 1970. Requires type 0x04.
std::uint64_t cosignature_time(const NoteSignature& signature);

/// A checkpoint that was read from a file, with its note.
struct SignedCheckpoint {
  Note note;
  Checkpoint checkpoint;

  static SignedCheckpoint parse(std::string_view text, std::string_view what);
};

/// Returns a decimal number without sign and leading zeros, or nullopt.
std::optional<std::uint64_t> parse_decimal(std::string_view text);
/// Returns the digest of a base64 text of 32 bytes, or nullopt.
std::optional<Digest> parse_digest(std::string_view base64);
/// Removes a line with its newline from the front. Returns nullopt if there is no newline.
std::optional<std::string_view> take_line(std::string_view& text);

}  // namespace frazil::govern
