#pragma once

#include <optional>
#include <vector>

#include <frazil/worst_case.h>

#include "server/access/path_bounds.h"
#include "server/model/served.h"

namespace frazil::server {

/// The knowledge about a value before the request runs.
struct KnownValue {
  bool ranked = false;                                     ///< `extents` has an element per axis
  std::vector<std::optional<api::ExtentRange>> extents;    ///< nullopt: any
  std::optional<api::ExtentRange> integer = std::nullopt;  ///< the range of the value, if it is one integer
};

/// Returns the bounds of a run of a model or pipeline over all of its paths. `inputs`: by position. The structure gives
/// the bound: a sequence adds costs, a choice takes the larger one, a loop multiplies. Blocks of fallbacks, races and
/// ensembles count all. Time outside of the process costs nothing, and shadows cost their model.
PathBounds path_bounds(const Served& target, const std::vector<KnownValue>& inputs);

}  // namespace frazil::server
