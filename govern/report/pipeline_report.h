#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "govern/base/json.h"

namespace frazil::govern {

/// A node of a pipeline with everything below it, for reports.
struct RouteNode {
  struct Branch {
    std::string rule;  ///< the condition or the share; empty: none
    std::vector<RouteNode> nodes;
  };
  std::string name;
  /// "run", "switch", "loop", "split", "fallback", "race", "ensemble", "shadow", "http", "features" or "code".
  std::string kind;
  std::string model, version;  ///< of "run": the version that it runs
  std::string endpoint;        ///< of "http", "features" and "code": a URL, or a file and a function
  std::int64_t most = 1;       ///< of "loop": the largest number of iterations
  std::vector<Branch> branches;
};

/// A pipeline, which runs `nodes` in order.
struct Route {
  std::string name, digest;
  std::vector<RouteNode> nodes;
};

/// The report of a model or a pipeline that a route runs.
struct CalledReport {
  std::string model, version;
  Json report;
};

/// Returns what can be said about all paths of a pipeline. It has the members of a model's report except `extents`,
/// and:
///   models        [{name, version, digest}] that a path can run, also in arms of share 0; version and digest are
///                 null for a model that frazil.Call runs
///   endpoints     [{kind, host, path, node}] outside of the process
///   code          [{name, digest, node}] of programs; the digest is empty, as it is not known
///   influence     {}: not computed for pipelines
///   branches      [{node, kind, rules}]
///   paths         number of different paths, a loop counted with each number of iterations; at most 1e300
/// Of the branches of a switch or split, the most expensive counts. Fallbacks, races, ensembles and shadows count all
/// of their branches, and a loop its body for each iteration. Time and memory outside of the process are not included.
/// Throws Code::bad_input if `called` lacks a model of the route.
Json report_of(const Route& route, const std::vector<CalledReport>& called);

}  // namespace frazil::govern
