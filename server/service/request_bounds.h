#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <frazil/worst_case.h>

#include "server/access/path_bounds.h"
#include "server/model/served.h"
#include "server/request/request.h"

namespace frazil::server {

/// Computes the bounds of requests for the extents of their inputs, and remembers them. Extents above 32 are rounded up
/// by at most a sixteenth, so that few bounds are computed. Thread-safe.
class RequestBounds {
 public:
  /// The bounds of a request, and the measured costs of the version's requests relative to them.
  struct Result {
    std::shared_ptr<const PathBounds> bounds;
    std::shared_ptr<CostRatio> ratio;
  };
  /// Returns the bounds of a request for a model or pipeline. A part that cannot be analysed has no bound.
  Result of(const Served& target, const std::vector<NamedArray>& inputs);

 private:
  /// The results for one version.
  struct Version {
    std::weak_ptr<const Served> served;
    std::shared_ptr<CostRatio> ratio = std::make_shared<CostRatio>();
    std::map<std::string, std::shared_ptr<const PathBounds>> bounds;  ///< by the extents of the inputs
  };

  std::mutex mutex_;  // guards the member below
  std::map<const Served*, Version> versions_;
};

}  // namespace frazil::server
