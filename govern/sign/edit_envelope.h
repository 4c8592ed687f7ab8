#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "govern/base/json.h"
#include "govern/sign/violation.h"

// Envelopes of edits: signed boundaries. An edit whose static report over all paths is inside needs no new signature.
namespace frazil::govern {

/// The permissions of models and pipelines. Everything that is not listed is outside. "*" as a name or a route means
/// any.
struct EditEnvelope {
  struct Operator {
    std::string domain, name;          ///< "" is ai.onnx
    std::int64_t first = 0, last = 0;  ///< opsets, inclusive
    auto operator<=>(const Operator&) const = default;
  };
  /// A model that may be called. An empty member means any; one of them is not empty.
  struct Model {
    std::string name, digest;
    auto operator<=>(const Model&) const = default;
  };
  struct Endpoint {
    std::string kind, host;           ///< "http", "api.example.org:443"
    std::optional<std::string> path;  ///< compared exactly; nullopt: any
    auto operator<=>(const Endpoint&) const = default;
  };
  std::set<Operator> operators;
  std::set<Model> models;
  std::set<Endpoint> endpoints;
  std::set<std::string> code;                   ///< digests of programs
  std::map<std::string, std::int64_t> extents;  ///< the largest value of each extent that inputs declare
  double worst_cost_ns = 0, worst_memory_bytes = 0;
  std::optional<double> max_steps;                         ///< the limit on steps of runs without a bound on cost
  std::map<std::string, std::set<std::string>> influence;  ///< labels that may steer a route

  bool operator==(const EditEnvelope&) const = default;
};

/// Reads an envelope. All members are required; `max_steps` may be null. Throws Code::bad_input, with `what`, for a
/// missing, an unknown or an ill-typed member.
EditEnvelope read_edit_envelope(std::string_view text, std::string_view what);
/// Returns the canonical JSON: equal envelopes have equal texts, so that the text's digest identifies the envelope.
std::string text_of(const EditEnvelope& envelope);

/// Returns in what a static report leaves an envelope, in the order of the envelope's members; empty: it is inside. The
/// report has the members `operators`, `models`, `endpoints`, `code`, `worst_cost_ns` (null: unbounded),
/// `worst_memory_bytes`, `max_steps` (null: none) and `influence`; also `extents`, {name: [least, most] or null}, if
/// the envelope has any. Other members are ignored. An unbounded cost is inside only if both have max_steps and the
/// report's is not larger. Throws Code::bad_input, with `what`, if a member is missing or ill-typed.
std::vector<Violation> contains(const EditEnvelope& envelope, const Json& report, std::string_view what);

/// Returns what an inner envelope allows and an outer one does not. Ranges of opsets are compared with one range of the
/// outer envelope, not with a union.
std::vector<Violation> contains(const EditEnvelope& outer, const EditEnvelope& inner);

}  // namespace frazil::govern
