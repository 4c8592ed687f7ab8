#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "govern/audit/audit_log.h"
#include "govern/audit/holds.h"
#include "govern/audit/tiles.h"

namespace frazil::govern {

/// Removes blobs that entries of a subject name and no entry of another subject. Returns their number.
std::uint64_t remove_blobs_of(const std::string& folder, std::uint64_t size, std::string_view subject);

/// A selection of entries to remove: those of full bundles whose time is over and that no hold keeps. Reads the log
/// when it is made, and changes nothing until apply().
class PrunePlan {
 public:
  PrunePlan(std::string folder, std::uint64_t size, const KeepTimes& keep, std::int64_t now_ms);
  const PruneResult& result() const { return result_; }
  /// Returns the time before which entries of class `request` are removed.
  const std::string& before() const { return before_; }
  /// Replaces bundles by the entries that remain, and removes blobs that no remaining entry names.
  void apply() const;

 private:
  struct Change {
    std::uint64_t bundle;
    std::string kept;  ///< the entries that remain; see format_kept()
  };
  void plan_bundle(std::uint64_t bundle, const KeepTimes& keep, std::int64_t now_ms);
  std::set<std::string> named_blobs() const;

  std::string folder_, before_;
  std::uint64_t size_;
  Holds holds_;
  PruneResult result_;
  std::vector<Change> changes_;
  std::set<std::string> blobs_;  ///< that removed entries name
};

}  // namespace frazil::govern
