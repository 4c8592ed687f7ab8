#include "govern/audit/proof.h"

#include <algorithm>

#include "govern/audit/history.h"
#include "govern/audit/tiles.h"
#include "govern/base/encoding.h"
#include "govern/base/error.h"
#include "govern/base/file.h"

namespace frazil::govern {
namespace {

constexpr std::string_view kProofHeader = "c2sp.org/tlog-proof@v1";
constexpr std::size_t kMaxProofHashes = 64;

std::string_view proof_line(std::string_view& text, std::string_view what) {
  const auto line = take_line(text);
  if (!line) fail(Code::bad_input, "{}: the proof is cut off", what);
  return *line;
}

/// Returns the note by which the proof of an entry is made.
std::string checkpoint_for(const std::string& folder, std::uint64_t index) {
  std::string last = read_file(folder + "/checkpoint", kMaxNoteBytes);
  if (SignedCheckpoint::parse(last, "the log's checkpoint").note.signatures.size() > 1) return last;
  const auto witnessed = read_history(folder);
  if (witnessed.empty() || witnessed.back().checkpoint.size <= index) return last;
  return format_note(witnessed.back().note);
}

}  // namespace

std::string EntryProof::text() const {
  std::string text = fmt::format("{}\n", kProofHeader);
  if (!extra.empty()) text += fmt::format("extra {}\n", base64(bytes_of(extra)));
  text += fmt::format("index {}\n", index);
  for (const Digest& hash : hashes) (text += base64(hash)) += '\n';
  return text + "\n" + checkpoint;
}

EntryProof EntryProof::parse(std::string_view text, std::string_view what) {
  EntryProof proof;
  if (proof_line(text, what) != kProofHeader) fail(Code::bad_input, "{}: expected '{}' first", what, kProofHeader);
  std::string_view line = proof_line(text, what);
  if (line.starts_with("extra ")) {
    const auto extra = from_base64(line.substr(6));
    if (!extra) fail(Code::bad_input, "{}: 'extra': expected base64", what);
    proof.extra = *extra;
    line = proof_line(text, what);
  }
  const auto index = line.starts_with("index ") ? parse_decimal(line.substr(6)) : std::nullopt;
  if (!index) fail(Code::bad_input, "{}: expected 'index' with a number", what);
  proof.index = *index;
  while (!(line = proof_line(text, what)).empty()) {
    const auto hash = parse_digest(line);
    if (!hash || proof.hashes.size() == kMaxProofHashes) fail(Code::bad_input, "{}: expected hashes in base64", what);
    proof.hashes.push_back(*hash);
  }
  proof.checkpoint = text;
  return proof;
}

EntryProof prove_entry(const std::string& folder, std::uint64_t index) {
  EntryProof proof;
  proof.index = index;
  proof.checkpoint = checkpoint_for(folder, index);
  const Checkpoint checkpoint = SignedCheckpoint::parse(proof.checkpoint, "the log's checkpoint").checkpoint;
  if (index >= checkpoint.size) {
    fail(Code::bad_input, "log '{}': there is no entry {}; its checkpoint has {}", folder, index, checkpoint.size);
  }
  TileReader tiles(folder, checkpoint.size);
  const auto entry = tiles.entry(index);
  if (!entry) fail(Code::bad_input, "log '{}': entry {} was pruned", folder, index);
  proof.extra = *entry;
  proof.hashes = inclusion_proof(index, checkpoint.size, tiles.subtrees());
  return proof;
}

std::string check_entry_proof(const EntryProof& proof, const WitnessPolicy& policy) {
  const auto [note, checkpoint] = SignedCheckpoint::parse(proof.checkpoint, "the proof's checkpoint");
  const bool by_log = std::ranges::any_of(policy.logs(), [&](const VerifierKey& log) {
    return log.name == checkpoint.origin && verify_signature(note, log) == SignatureState::valid;
  });
  if (!by_log) return fmt::format("no known key of log '{}' has signed the checkpoint", checkpoint.origin);
  if (!policy.is_quorum(policy.witnesses_of(note))) {
    return fmt::format("the checkpoint lacks cosignatures of the quorum '{}'", policy.quorum());
  }
  const auto root = root_by_inclusion(leaf_hash(proof.extra), proof.index, checkpoint.size, proof.hashes);
  if (root != checkpoint.root) return fmt::format("the hashes do not lead to the root of size {}", checkpoint.size);
  return {};
}

}  // namespace frazil::govern
