#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "govern/audit/witness_policy.h"
#include "govern/base/json.h"

// The verifier of a log: reads its folder, and needs neither the server nor a network. See docs/reference/audit-log.md.
namespace frazil::govern {

/// The comparison of one request with the report of its definition.
struct ComparedPath {
  std::vector<std::string> outside;  ///< a line for each step that the report does not allow
  bool slow = false;                 ///< it took longer than predicted; not a violation
};
/// Compares the steps of a request, and its measured cost if it is known.
using ComparePath = std::function<ComparedPath(const Json& steps, std::optional<std::uint64_t> cost_ns)>;
/// Prepares comparisons with a report of a served version. Throws Code::bad_input for a damaged report.
using PrepareReport =
    std::function<ComparePath(const Json& report, const std::string& model, const std::string& version)>;

struct VerifyOptions {
  WitnessPolicy policy;  ///< keys of the log and of witnesses, and the quorum
  /// Checkpoints from elsewhere, by the name of the file: earlier ones, or from a witness. The log must contain them.
  std::vector<std::pair<std::string, std::string>> checkpoints;
  unsigned threads = 0;        ///< 0: one for each core
  PrepareReport reports = {};  ///< compares recorded paths with the reports in the log; empty: they are not compared
  std::int64_t max_backwards_ms = 10000;  ///< by which times may go back, and requests may overlap a replacement
};

/// A violation.
struct Finding {
  std::string check;                   ///< "checkpoint", "tree", "history", "entry", "definition", ...
  std::optional<std::uint64_t> entry;  ///< index, if it is about one
  std::string text;
};

/// The findings of a verification. Keeps the first thousand, and counts all.
class Findings {
 public:
  void add(std::string check, std::optional<std::uint64_t> entry, std::string text);
  void add_all(const Findings& more);
  const std::vector<Finding>& list() const { return list_; }
  std::uint64_t count() const { return count_; }

 private:
  std::vector<Finding> list_;
  std::uint64_t count_ = 0;
};

struct VerifyReport {
  std::string origin;
  std::uint64_t size = 0;              ///< of the checkpoint
  std::uint64_t witnessed_size = 0;    ///< largest size that a quorum of witnesses has cosigned
  std::string witnessed_at;            ///< time of the oldest cosignature of it
  std::uint64_t unsigned_entries = 0;  ///< in the journal, after the checkpoint
  std::uint64_t pruned = 0, lost = 0, blobs = 0, history = 0;
  std::map<std::string, std::uint64_t> kinds;  ///< entries by kind
  Findings findings;
  std::vector<std::string> notes;  ///< declared gaps, repairs, prunes, erasures

  bool ok() const { return findings.count() == 0; }
  Json json() const;
};

/// Verifies a log. Damaged files are findings. Throws Code::bad_input if the folder does not exist or a given
/// checkpoint is not one.
VerifyReport verify_log(const std::string& folder, const VerifyOptions& options);

}  // namespace frazil::govern
