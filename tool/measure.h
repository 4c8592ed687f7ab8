#pragma once

#include <vector>

#include "exec/run/session.h"
#include "tool/requests.h"

namespace frazil::tool {

/// Precondition of both functions: `values` is not empty.
double median(std::vector<double> values);
/// Returns the nearest-rank percentile; `part` is 0.99 for the 99th.
double percentile(std::vector<double> values, double part);

/// Returns the peak resident set of this process in 10^6 bytes.
double peak_megabytes();

/// Runs one request and returns its seconds. Releasing its results is not measured.
Result<double> timed(exec::Session& session, Requests& requests, const std::vector<Datum>& inputs);
/// Runs the remaining requests of the pass and restarts them. Returns their total seconds, and appends the seconds of
/// each request to `each` unless it is null.
Result<double> timed_pass(exec::Session& session, Requests& requests, std::vector<double>* each);

}  // namespace frazil::tool
