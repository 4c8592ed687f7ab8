#pragma once

#include <vector>

#include "exec/run/session.h"
#include "tool/requests.h"

namespace frazil::tool {

/// Precondition of both: there are values.
double median(std::vector<double> values);
/// Nearest-rank percentile; `part` is 0.99 for the 99th.
double percentile(std::vector<double> values, double part);

/// The peak resident set of this process in 10^6 bytes.
double peak_megabytes();

/// Runs one request and returns its seconds; its results are released after the clock has stopped.
Result<double> timed(exec::Session& session, Requests& requests, const std::vector<Datum>& inputs);
/// Runs the remaining requests of the pass and restarts them; returns their seconds together, and appends those of each
/// to `each` unless it is null.
Result<double> timed_pass(exec::Session& session, Requests& requests, std::vector<double>* each);

}  // namespace frazil::tool
