#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "govern/audit/event.h"
#include "govern/audit/holds.h"
#include "govern/audit/verify.h"
#include "govern/audit/verify_paths.h"

namespace frazil::govern {

/// The parts of an entry that the checks of meaning read.
struct EntryFacts {
  std::uint64_t index = 0;
  std::int64_t at = 0;
  const KindRow* kind = nullptr;
  // Of a request, as parts of the entry's text; empty if it lacks the member.
  std::string_view model, version, definition, policy, steps, cost;
  std::int64_t ms = 0;
  std::vector<std::string> blobs;
  std::string subject;
  Json event = {};  ///< of other kinds
};

/// Checks one entry by itself: its form, its members and their types. Returns nullopt, with a finding, if it is not an
/// event. The facts point into the entry.
std::optional<EntryFacts> read_facts(std::string_view entry, std::uint64_t index, Findings& findings);

/// Checks events in the order of the log: starts and ends, definitions, policies, times, gaps, prunes, erasures.
class MeaningCheck {
 public:
  /// `options` and `report` must outlive the object.
  MeaningCheck(std::string folder, const VerifyOptions& options, VerifyReport& report)
      : folder_(std::move(folder)),
        slack_ms_(options.max_backwards_ms),
        report_(report),
        paths_(folder_, options.reports, report) {}
  void add(const EntryFacts& facts);
  /// States that a bundle lacks entries.
  void add_missing(std::uint64_t bundle, std::uint64_t count) { missing_[bundle] += count; }
  /// Checks what needs the whole log. Reads the blobs.
  void finish();

 private:
  /// The values that were in force, by name: a definition of a model's version, or the policy.
  struct InForce {
    std::string now;
    std::unordered_map<std::string, std::int64_t> former;  ///< when each was replaced last
    void replace(std::string with, std::int64_t at);
  };
  struct Blob {
    std::uint64_t entry;             ///< the first that names it
    std::set<std::string> subjects;  ///< of all entries that name it; "" for one without
  };
  void check_time(const EntryFacts& facts);
  void add_request(const EntryFacts& facts);
  void add_publication(const EntryFacts& facts);
  void add_prune(const EntryFacts& facts);
  void add_run(const EntryFacts& facts);
  void add_erase(const EntryFacts& facts);
  void add_hold(const EntryFacts& facts);
  void check_in_force(const EntryFacts& facts, const InForce& state, std::string_view value, const std::string& what);
  void check_missing();
  void check_payloads();
  void check_blobs();
  void find(const char* check, const EntryFacts& facts, std::string text);
  void note(std::string text);

  std::string folder_;
  std::int64_t slack_ms_;
  VerifyReport& report_;
  PathsInLog paths_;
  std::int64_t newest_ = 0;
  bool running_ = false;
  InForce policy_;
  std::unordered_map<std::string, std::set<std::string>> published_;  ///< definitions by model, as a JSON text
  std::unordered_map<std::string, InForce> definitions_;              ///< by model and version, as JSON texts
  std::map<std::string, Blob> blobs_;
  std::map<std::string, std::uint64_t> erased_;  ///< by subject, the entry
  Holds holds_;
  std::map<std::uint64_t, std::uint64_t> missing_;
  std::map<std::uint64_t, std::uint64_t> pruned_ranges_;  ///< from, to
  std::uint64_t declared_pruned_ = 0;
};

}  // namespace frazil::govern
