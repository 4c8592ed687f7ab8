#include "govern/audit/note.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "govern/base/encoding.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

constexpr std::string_view kDash = "\u2014 ";
constexpr std::size_t kMaxSignatures = 64, kEd25519Bytes = 64, kTimeBytes = 8;

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

NoteSignature parse_signature_line(std::string_view line, std::string_view what) {
  if (line.starts_with(kDash)) {
    line.remove_prefix(kDash.size());
    const std::size_t space = line.find(' ');
    const auto bytes = from_base64(line.substr(std::min(line.size(), space + 1)));
    if (space != std::string_view::npos && is_key_name(line.substr(0, space)) && bytes && bytes->size() > 4) {
      return {std::string(line.substr(0, space)), static_cast<std::uint32_t>(big_endian(bytes->substr(0, 4))),
              bytes->substr(4)};
    }
  }
  fail(Code::bad_input, "{}: expected a signature, an em dash with the name of a key and base64", what);
}

std::string cosigned_text(std::string_view text, std::uint64_t time) {
  return fmt::format("cosignature/v1\ntime {}\n{}", time, text);
}

bool is_valid_by(const Note& note, const NoteSignature& given, const VerifierKey& key) {
  if (key.type == SignatureType::ed25519) return key.key.verify(note.text, given.signature);
  if (given.signature.size() != kTimeBytes + kEd25519Bytes) return false;
  return key.key.verify(cosigned_text(note.text, cosignature_time(given)), given.signature.substr(kTimeBytes));
}

}  // namespace

std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return text.size() > 1 && text[0] == '0' ? std::nullopt : std::optional(number);
}

std::optional<Digest> parse_digest(std::string_view base64) {
  const auto bytes = from_base64(base64);
  Digest digest;
  if (!bytes || bytes->size() != digest.size()) return std::nullopt;
  std::memcpy(digest.data(), bytes->data(), digest.size());
  return digest;
}

std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::vector<NoteSignature> parse_signatures(std::string_view lines, std::string_view what) {
  std::vector<NoteSignature> signatures;
  while (const auto line = take_line(lines)) {
    if (signatures.size() == kMaxSignatures) fail(Code::limit, "{}: more than {} signatures", what, kMaxSignatures);
    signatures.push_back(parse_signature_line(*line, what));
  }
  if (!lines.empty()) fail(Code::bad_input, "{}: the last line has no end", what);
  return signatures;
}

Note parse_note(std::string_view text, std::string_view what) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n'; };
  if (text.size() > kMaxNoteBytes || std::ranges::any_of(text, control)) {
    fail(Code::bad_input, "{}: expected a text of at most {} bytes without control characters", what, kMaxNoteBytes);
  }
  const std::size_t blank = text.rfind("\n\n");
  if (blank == std::string_view::npos) fail(Code::bad_input, "{}: expected a signed note, with an empty line", what);
  Note note{std::string(text.substr(0, blank + 1)), parse_signatures(text.substr(blank + 2), what)};
  if (note.signatures.empty()) fail(Code::bad_input, "{}: the note has no signature", what);
  return note;
}

std::string format_signature(const NoteSignature& signature) {
  std::string bytes;
  append_big_endian(bytes, signature.key_id);
  bytes += signature.signature;
  return fmt::format("{}{} {}\n", kDash, signature.name, base64(bytes_of(bytes)));
}

std::string format_note(const Note& note) {
  std::string text = note.text + "\n";
  for (const NoteSignature& signature : note.signatures) text += format_signature(signature);
  return text;
}

bool is_key_name(std::string_view name) {
  const auto bad = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == '+' || c == 0x7f; };
  return !name.empty() && std::ranges::none_of(name, bad);
}

std::uint32_t signature_key_id(std::string_view name, SignatureType type, const PublicKey& key) {
  std::string bytes(name);
  (bytes += '\n') += static_cast<char>(type);
  const Digest digest = sha256(bytes + key.raw_ed25519());
  return static_cast<std::uint32_t>(big_endian(text_of(digest).substr(0, 4)));
}

VerifierKey VerifierKey::parse(std::string_view text, std::string_view what) {
  const std::size_t first = text.find('+'), second = text.find('+', first + 1);
  const auto bytes = second < text.size() ? from_base64(text.substr(second + 1)) : std::nullopt;
  if (!bytes || bytes->size() != 33 || !is_key_name(text.substr(0, first))) {
    fail(Code::bad_input, "{}: expected a key of the form NAME+ID+BASE64 with an Ed25519 key", what);
  }
  const auto type = static_cast<SignatureType>((*bytes)[0]);
  if (type != SignatureType::ed25519 && type != SignatureType::cosignature) {
    fail(Code::unsupported, "{}: expected a key of type 1 or 4, got {}", what, static_cast<unsigned char>((*bytes)[0]));
  }
  VerifierKey key{std::string(text.substr(0, first)), type, PublicKey::from_ed25519(bytes->substr(1))};
  if (text.substr(first + 1, second - first - 1) != fmt::format("{:08x}", key.id())) {
    fail(Code::bad_input, "{}: the id of the key is not that of its name and bytes, {:08x}", what, key.id());
  }
  return key;
}

std::string VerifierKey::text() const {
  const std::string bytes = static_cast<char>(type) + key.raw_ed25519();
  return fmt::format("{}+{:08x}+{}", name, id(), base64(bytes_of(bytes)));
}

std::string Checkpoint::text() const { return fmt::format("{}\n{}\n{}\n", origin, size, base64(root)); }

Checkpoint Checkpoint::parse(std::string_view text, std::string_view what) {
  const auto origin = take_line(text), size = take_line(text), root = take_line(text);
  const auto number = parse_decimal(size.value_or(""));
  const auto digest = parse_digest(root.value_or(""));
  if (!origin || origin->empty() || !number || !digest) {
    fail(Code::bad_input, "{}: expected a checkpoint, with lines for the origin, the size and the root", what);
  }
  return {std::string(*origin), *number, *digest};
}

NoteSignature sign_note(std::string_view text, const std::string& name, const SigningKey& key) {
  return {name, signature_key_id(name, SignatureType::ed25519, key.public_key()), key.sign(text)};
}

NoteSignature cosign(std::string_view text, const std::string& name, const SigningKey& key, std::uint64_t time) {
  std::string signature;
  append_big_endian(signature, time);
  signature += key.sign(cosigned_text(text, time));
  return {name, signature_key_id(name, SignatureType::cosignature, key.public_key()), signature};
}

SignatureState verify_signature(const Note& note, const VerifierKey& key) {
  const std::uint32_t id = key.id();
  for (const NoteSignature& given : note.signatures) {
    if (given.name != key.name || given.key_id != id) continue;
    return is_valid_by(note, given, key) ? SignatureState::valid : SignatureState::invalid;
  }
  return SignatureState::absent;
}

std::uint64_t cosignature_time(const NoteSignature& signature) {
  return big_endian(std::string_view(signature.signature).substr(0, kTimeBytes));
}

SignedCheckpoint SignedCheckpoint::parse(std::string_view text, std::string_view what) {
  Note note = parse_note(text, what);
  Checkpoint checkpoint = Checkpoint::parse(note.text, what);
  return {std::move(note), std::move(checkpoint)};
}

}  // namespace frazil::govern
