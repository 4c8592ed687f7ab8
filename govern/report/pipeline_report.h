#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "govern/base/json.h"

namespace frazil::govern {

/// The values and parameters that a formula reads.
struct RouteFormula {
  std::vector<std::size_t> values = {};
  std::vector<std::string> parameters = {};  ///< of the request
};

/// A node of a pipeline with everything below it, for reports. Values have numbers.
struct RouteNode {
  struct Branch {
    std::string rule;  ///< the condition or the share; empty: none
    std::vector<RouteNode> nodes;
    std::string name = {};
    RouteFormula when = {};                 ///< of "switch"
    std::vector<std::size_t> results = {};  ///< values that become the node's `outputs`, in order
    bool guarded = false;                   ///< a guard may replace it by another branch
  };
  /// A value of a port. The name is empty if the node has no named ports.
  struct Port {
    std::string name;
    std::size_t value;
  };
  /// A value that the iterations of a loop hand on: before it, in and after it, and at the end of an iteration.
  struct Carried {
    std::size_t from, value, next;
  };
  std::string name;
  /// "run", "switch", "loop", "split", "fallback", "race", "ensemble", "shadow", "http", "features" or "code".
  std::string kind;
  std::string model = {}, version = {};  ///< of "run": the version that it runs
  std::string endpoint = {};             ///< of "http", "features" and "code": a URL, or a file and a function
  std::int64_t most = 1;                 ///< of "loop": the largest number of iterations
  std::vector<Branch> branches = {};
  std::vector<Port> inputs = {}, outputs = {};
  RouteFormula decision = {};           ///< of "split" and "loop"
  bool draws = false;                   ///< of "split" and "shadow": chance may choose
  std::size_t least = 1;                ///< of "ensemble": the number of blocks that must succeed
  bool repeats_always = false;          ///< of "loop": it ends after `most` iterations only
  std::vector<Carried> carried = {};    ///< of "loop"
  std::vector<std::size_t> count = {};  ///< of "loop": the values that hold the number of iterations
  std::vector<Port> emitted = {};       ///< of "loop": outputs of the pipeline and the values that it emits
  std::vector<std::pair<std::string, std::string>> emits = {};  ///< of "run": outputs of the target, and here
};

/// A pipeline, which runs `nodes` in order.
struct Route {
  std::string name, digest;
  std::vector<RouteNode> nodes;
  std::vector<RouteNode::Port> inputs = {}, outputs = {};
};

/// The report of a model or a pipeline that a route runs.
struct CalledReport {
  std::string model, version;
  Json report;
};

/// Returns what can be said about all paths of a pipeline. It has the members of a model's report except `extents`
/// and `draws`,
/// and:
///   models        [{name, version, digest}] that a path can run, also in arms of share 0; version and digest are
///                 null for a model that frazil.Call runs
///   endpoints     [{kind, host, path, node}] outside of the process
///   code          [{name, digest, node}] of programs; the digest is empty, as it is not known
///   influence, reaches  as in route_influence.h
///   selections    []: those of models are in their reports
///   passes, always  as in route_order.h
///   branches      [{node, kind, rules}]
///   steps         [{node, kind, model?, version?, taken?: [branch], most?, inside?: {node, taken}}] of its own nodes:
///                 what a recorded path may have (observed.h)
///   pipelines     {"NAME/VERSION": steps} of the pipelines that it runs
///   paths         number of different paths, a loop counted with each number of iterations; at most 1e300
/// Of the branches of a switch or split, the most expensive counts. Fallbacks, races, ensembles and shadows count all
/// of their branches, and a loop its body for each iteration. Time and memory outside of the process are not included.
/// Throws Code::bad_input if `called` lacks a model of the route.
Json report_of(const Route& route, const std::vector<CalledReport>& called);

/// Returns the report of a called version, or null.
const Json* find_report(const std::vector<CalledReport>& called, std::string_view model, std::string_view version);
/// Returns "model:NAME/VERSION", "code:FILE" or "endpoint:KIND://HOST/PATH": the name of what a node runs or calls in
/// `influence`, `reaches` and `passes`. Empty for other nodes.
std::string target_of(const RouteNode& node);

}  // namespace frazil::govern
