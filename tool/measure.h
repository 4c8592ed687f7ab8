#pragma once

#include <functional>
#include <vector>

#include "tool/requests.h"

namespace frazil::tool {

/// Precondition of both functions: `values` is not empty.
double median(std::vector<double> values);
/// Returns the nearest-rank percentile; `part` is 0.99 for the 99th.
double percentile(std::vector<double> values, double part);

/// Calls `run` until the code that it needs is compiled. Use it before a measurement.
void settle(const std::function<void()>& run);

/// Returns the peak resident set of this process in 10^6 bytes.
double peak_megabytes();

/// Runs one request and returns its seconds. Releasing its results is not measured.
double timed(api::Session& session, Requests& requests, const std::vector<Array>& inputs);
/// Runs the remaining requests of the pass and restarts them. Returns their total seconds, and appends the seconds of
/// each request to `each` unless it is null.
double timed_pass(api::Session& session, Requests& requests, std::vector<double>* each);

}  // namespace frazil::tool
