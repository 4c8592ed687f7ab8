#pragma once

#include <map>
#include <optional>
#include <string>

#include <frazil/worst_case.h>

#include "govern/base/json.h"

namespace frazil::govern {

/// The assumptions of a report about requests.
struct ReportOptions {
  std::map<std::string, api::ExtentRange> extents;  ///< by name; extents that a model lacks have no effect
};

/// Returns what can be said about all paths of a model without running it. Members:
///   name, digest         of the model
///   operators            [{domain, name, opset, count}] of the graph with its bodies, sorted; opset is null if the
///                        file imports none
///   models               [{name, version}] that frazil.Call runs; version is null for the current one
///   endpoints, code      [], as a graph reaches nothing outside of the process
///   draws                whether a node draws random numbers
///   max_steps            null, as a report does not limit runs
///   extents              {name: [least, most] or null} of the inputs, which the bounds assume
///   worst_operations, worst_cost_ns, worst_memory_bytes, worst_output_bytes
///                        upper bounds as in api::WorstCase; null if there is none
///   unbounded            [{of: "work" | "memory", where, why}]
///   influence            {"output 'y'" | "node 'If_12' (If)" | "model:NAME/VERSION": [inputs]}, as influence_of()
///   reaches              {"model:NAME/VERSION": [inputs]} whose values the called model may get
///   selections           as selections_of()
/// The canonical text of equal models and options is equal.
Json report_of(const api::Model& model, const ReportOptions& options);

/// Returns a bound as a member of a report: rounded up to an integer below 2^53, null without a bound.
Json number_of_bound(std::optional<double> bound);

/// Returns "sha256:..." of a report's canonical text.
std::string digest_of_report(const Json& report);

}  // namespace frazil::govern
