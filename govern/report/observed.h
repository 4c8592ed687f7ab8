#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "govern/base/json.h"

// Recorded paths and costs against the report over all paths. See docs/decisions/0230-observed-paths.md.
namespace frazil::govern {

/// A step of a request, as in the member `steps` of an event. Texts belong to the caller.
struct ObservedStep {
  std::string_view node, kind, model, version, taken;
};

/// Returns the steps of an event. They refer to `steps`. Members of another type are empty.
std::vector<ObservedStep> observed_steps(const Json& steps);

/// The measured use of a request, as far as it is known.
struct ObservedCost {
  std::optional<double> operations, output_bytes, nanoseconds;
};

/// The paths that a report allows to requests of one served version. Immutable.
class PathCheck {
 public:
  /// `model` and `version`: those under which it is served. Throws Code::bad_input for a damaged report.
  PathCheck(const Json& report, std::string model, std::string version);

  /// Returns a line for each step that the report does not allow: a node, a model, a version or a branch that it lacks,
  /// a branch whose node chose another one, and a node that ran more often than its loops permit. Empty: the path is
  /// within the report. A step of kind "left out" stands for steps that were not recorded; then choices are not
  /// compared.
  std::vector<std::string> outside(std::span<const ObservedStep> steps) const;

  /// Returns a line for each bound that a cost exceeds. Operations and bytes are bounds: exceeding one means that the
  /// report is wrong, or that something else ran.
  std::vector<std::string> beyond(const ObservedCost& cost) const;
  /// Returns whether the time is longer than the worst predicted one. That is a reason to look, not a violation: the
  /// prediction is for one core of the machine that made the report.
  bool is_slow(const ObservedCost& cost) const;

 private:
  struct Step {
    std::string kind, model, version;
    std::set<std::string, std::less<>> taken;
    double most = 1;
    std::string inside, inside_taken;  ///< the node and the branch that contain it; empty: none
  };
  using Steps = std::map<std::string, Step, std::less<>>;
  struct Place {
    const Step* step = nullptr;
    std::string prefix;  ///< before the names of its pipeline's nodes: "" or "STEP."
    double times = 1;    ///< how often it may run
  };
  class Reading;

  static Steps steps_of(const Json& list);
  std::optional<Place> find(const Steps& steps, std::string_view name, const std::string& prefix, double times) const;
  static double repeats(const Steps& steps, const Step& step);

  std::string model_, version_;
  bool is_pipeline_;
  Steps steps_;
  std::map<std::string, Steps, std::less<>> pipelines_;  ///< by "NAME/VERSION"
  std::optional<double> operations_, output_bytes_, nanoseconds_;
};

}  // namespace frazil::govern
