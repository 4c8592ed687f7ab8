#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "govern/audit/cosigner.h"
#include "govern/audit/note.h"
#include "govern/base/file.h"
#include "govern/base/key.h"

namespace frazil::govern {

/// A witness of logs (C2SP tlog-witness): cosigns a checkpoint that extends the last one it has cosigned. It keeps the
/// origin, size and root of each log, about 100 bytes. Thread-safe; one process may use a state folder at a time.
class Witness {
 public:
  /// `logs`: the keys that are trusted, by origin; a log may have several. `clock` returns seconds since 1970. Throws
  /// Code::bad_input if the folder cannot be used or a state is damaged.
  Witness(std::string folder, std::string name, const SigningKey& key, std::vector<VerifierKey> logs,
          std::function<std::uint64_t()> clock = {});

  /// Answers a request "add-checkpoint". Statuses: 200 with the cosignature, 400 for another form or an old size beyond
  /// the checkpoint's, 403 without a valid signature of the log, 404 for an unknown log, 409 with the size that was
  /// cosigned last, 422 if the proof is wrong, 500 if the state cannot be stored. The state is stored before it
  /// answers.
  WitnessAnswer add_checkpoint(std::string_view body);

  /// Returns the witness's key for policies.
  VerifierKey key() const { return {name_, SignatureType::cosignature, key_.public_key()}; }

 private:
  WitnessAnswer cosign_next(std::uint64_t old, const std::vector<Digest>& proof, const SignedCheckpoint& next);
  std::string state_path(const std::string& origin) const;

  std::string folder_, name_;
  SigningKey key_;
  std::vector<VerifierKey> logs_;
  std::function<std::uint64_t()> clock_;
  File lock_;
  std::mutex mutex_;
  std::map<std::string, Checkpoint> states_;  ///< by origin
};

}  // namespace frazil::govern
