#include "govern/audit/cosigner.h"

#include "govern/audit/history.h"
#include "govern/audit/tiles.h"
#include "govern/base/encoding.h"
#include "govern/base/error.h"

namespace frazil::govern {

Cosigner::Cosigner(std::string folder, WitnessPolicy policy, WitnessClient client)
    : folder_(std::move(folder)), policy_(std::move(policy)), client_(std::move(client)) {
  for (const SignedCheckpoint& old : read_history(folder_)) {
    for (const std::string& name : policy_.witnesses_of(old.note)) sizes_[name] = old.checkpoint.size;
  }
}

WitnessAnswer Cosigner::post(const WitnessPolicy::Witness& witness, const SignedCheckpoint& checkpoint,
                             std::uint64_t old) {
  TileReader tiles(folder_, checkpoint.checkpoint.size);
  std::string body = fmt::format("old {}\n", old);
  for (const Digest& hash : consistency_proof(old, checkpoint.checkpoint.size, tiles.subtrees())) {
    (body += base64(hash)) += '\n';
  }
  return client_(witness, body + "\n" + format_note(checkpoint.note));
}

void Cosigner::ask_one(const WitnessPolicy::Witness& witness, const SignedCheckpoint& checkpoint, Result& result) {
  const std::uint64_t size = checkpoint.checkpoint.size;
  std::uint64_t& old = sizes_[witness.name];
  WitnessAnswer answer = post(witness, checkpoint, std::min(old, size));
  if (answer.status == 409) {
    const auto seen = parse_decimal(std::string_view(answer.body).substr(0, answer.body.find('\n')));
    if (!seen) fail(Code::bad_input, "answered 409 without a size");
    if (*seen > size || (*seen == size && *seen == old)) {
      result.conflict = fmt::format(
          "witness '{}' has cosigned another tree of size {}; this log has {} entries: the folder is an "
          "older copy of the log, or another log; restore the newest copy",
          witness.name, *seen, size);
      return;
    }
    old = *seen;
    answer = post(witness, checkpoint, old);
  }
  if (answer.status == 422 || answer.status == 409) {
    result.conflict = fmt::format("witness '{}' has cosigned another tree of size {}", witness.name, old);
    return;
  }
  if (answer.status != 200) fail(Code::bad_input, "answered with status {}", answer.status);
  const Note given{checkpoint.note.text, parse_signatures(answer.body, "its answer")};
  if (verify_signature(given, witness.key) != SignatureState::valid) {
    fail(Code::bad_input, "answered without a valid cosignature of its key");
  }
  for (const NoteSignature& signature : given.signatures) {
    if (signature.name == witness.key.name && signature.key_id == witness.key.id()) {
      result.note.signatures.push_back(signature);
    }
  }
  result.witnesses.insert(witness.name);
  old = size;
}

Cosigner::Result Cosigner::ask(const SignedCheckpoint& checkpoint) {
  Result result{.note = checkpoint.note, .witnesses = {}, .failures = {}, .conflict = {}};
  for (const auto& witness : policy_.witnesses()) {
    try {
      ask_one(witness, checkpoint, result);
    } catch (const std::exception& error) {
      result.failures.emplace(witness.name, error.what());
    }
  }
  return result;
}

}  // namespace frazil::govern
