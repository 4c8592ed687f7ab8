#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "govern/audit/note.h"
#include "govern/audit/witness_policy.h"

namespace frazil::govern {

/// A proof that a log contains an entry (C2SP tlog-proof, version 1).
struct EntryProof {
  std::string extra;  ///< bytes that the proof does not cover; here the entry itself
  std::uint64_t index = 0;
  std::vector<Digest> hashes;
  std::string checkpoint;  ///< a signed note

  std::string text() const;
  /// Throws Code::bad_input for another text.
  static EntryProof parse(std::string_view text, std::string_view what);
};

/// Makes a proof for an entry of a log, with the entry as its extra data. It uses the log's last checkpoint that a
/// witness has cosigned if that includes the entry, otherwise the last one. Throws Code::bad_input if the log has no
/// such entry or it was pruned.
EntryProof prove_entry(const std::string& folder, std::uint64_t index);

/// Checks a proof whose extra data is the entry. Returns the reason why it is not valid; empty if it is. `policy` has
/// the keys of the log and of the witnesses.
std::string check_entry_proof(const EntryProof& proof, const WitnessPolicy& policy);

}  // namespace frazil::govern
