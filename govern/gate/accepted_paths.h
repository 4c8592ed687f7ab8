#pragma once

#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "govern/report/observed.h"

namespace frazil::govern {

/// The checks of recorded paths by the served versions that the policy has accepted. Thread-safe.
class AcceptedPaths {
 public:
  /// Prepares the check of a definition from its report. Beyond 65,536 definitions, all earlier ones are forgotten.
  void add(const Json& report, const std::string& model, const std::string& version);
  /// Returns the check of a definition as it is served; null if it was not accepted under these names.
  std::shared_ptr<const PathCheck> find(std::string_view model, std::string_view version,
                                        std::string_view definition) const;

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const PathCheck>> checks_;  ///< guarded by mutex_
};

}  // namespace frazil::govern
