#pragma once

#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/frazil_runner.h"

/// Many requests with different shapes to one new session.
namespace bench {

using Requested = std::vector<std::vector<frazil::Datum>>;

/// Creates requests of all shapes from the same bytes, with one input for each of `values`.
Requested requests_of(const std::vector<frazil::Sizes>& shapes, std::span<const frazil::Tensor> values);

struct Served {
  double ms = 0, grown = 0;  ///< growth of the process, in bytes, after the first tenth
  frazil::exec::Counters counters;
};

/// Runs the requests on a new session. Results are not reused.
Served serve(const std::shared_ptr<frazil::exec::Executable>& executable, const Requested& requests);

nlohmann::json quartiles(const std::vector<double>& values);

}  // namespace bench
