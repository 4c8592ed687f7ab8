#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "govern/audit/note.h"
#include "govern/audit/witness_policy.h"

namespace frazil::govern {

/// An answer of HTTP.
struct WitnessAnswer {
  unsigned status = 0;
  std::string body;
};
/// Posts a body to "add-checkpoint" of a witness and waits for the answer. Throws any std::exception if there is none.
using WitnessClient = std::function<WitnessAnswer(const WitnessPolicy::Witness& witness, const std::string& body)>;

/// Asks witnesses for cosignatures of checkpoints (C2SP tlog-witness, the log's side). Not thread-safe.
class Cosigner {
 public:
  /// Continues after the checkpoints in the log's history.
  Cosigner(std::string folder, WitnessPolicy policy, WitnessClient client);

  struct Result {
    Note note;                                    ///< with valid cosignatures added
    std::set<std::string> witnesses;              ///< names of those that cosigned it
    std::map<std::string, std::string> failures;  ///< reasons by name
    /// A witness has seen a larger tree or another one: this log is an old copy, or a fork. Empty if none has.
    std::string conflict;
  };
  /// Asks each witness. The checkpoint's tiles must be written.
  Result ask(const SignedCheckpoint& checkpoint);
  const WitnessPolicy& policy() const { return policy_; }

 private:
  void ask_one(const WitnessPolicy::Witness& witness, const SignedCheckpoint& checkpoint, Result& result);
  WitnessAnswer post(const WitnessPolicy::Witness& witness, const SignedCheckpoint& checkpoint, std::uint64_t old);

  std::string folder_;
  WitnessPolicy policy_;
  WitnessClient client_;
  std::map<std::string, std::uint64_t> sizes_;  ///< that each witness cosigned last
};

}  // namespace frazil::govern
