#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "govern/audit/payloads.h"
#include "govern/audit/subject_keys.h"
#include "govern/base/json.h"
#include "server/replay/environment.h"
#include "server/replay/kept_definition.h"
#include "server/replay/payload.h"

// Replays of requests from an audit log. No host is contacted and no program is started: every choice and every answer
// from outside of the process is the recorded one.
namespace frazil::server {

/// Changes of a what-if replay.
struct ReplayChanges {
  std::map<std::string, std::string> values;  ///< branches of nodes and values of parameters, by name
  std::map<std::string, std::string> models;  ///< version to run instead, by the name of a model
  std::map<std::string, api::Array> inputs;   ///< values of inputs

  bool empty() const { return values.empty() && models.empty() && inputs.empty(); }
};
/// Adds NAME=VALUE, model=NAME/VERSION or input:NAME=@FILE.npy. Throws api::Error (bad_input).
void add_change(ReplayChanges& changes, const std::string& text);

/// Whether a replay had the outcome of the request.
enum class ReplayResult : std::uint8_t {
  equal,      ///< equal bits
  close,      ///< equal within the tolerance of api::difference(), where equal bits cannot be expected
  different,  ///< another outcome
  refused,    ///< not replayed, for the reason that is named
};
/// Returns "equal", ...
std::string_view name_of(ReplayResult result);

struct ReplayReport {
  ReplayResult result = ReplayResult::refused;
  std::string mode = "exact";  ///< "exact", "portable" in another environment, "what if" with changes
  std::string cause;           ///< why it was refused, or why equal bits cannot be expected; empty: no reason
  std::string place, recorded, replayed;  ///< the first difference: "output 'y'[3]", "status", and both values
  std::string step, step_difference;      ///< the first step that differs; empty: none does
  std::optional<double> largest;          ///< the largest difference of two numbers, if some differ
  std::vector<std::pair<std::string, std::string>> outputs;  ///< of a what-if replay, abbreviated

  govern::Json json() const;
};

/// Replays requests of one log. Definitions are made once. Not thread-safe.
class Replayer {
 public:
  /// `keys`: the folder of the subjects' keys; empty: payloads are not sealed. `here`: of this process. Throws
  /// api::Error (bad_input) for a folder without a log.
  Replayer(std::string folder, const std::string& keys, Environment here);
  ~Replayer();

  /// Replays the request at an index of the log. Never throws for what the log lacks: the report names it. Throws
  /// api::Error (bad_input) for an index that is not of a request, and for changes that do not fit the request.
  ReplayReport replay(std::uint64_t entry, const ReplayChanges& changes = {});
  /// Returns the payload of a request. Throws api::Error (bad_input) with the cause if there is none.
  Payload payload(std::uint64_t entry) const;
  /// Replays a payload. `environment`: why equal bits cannot be expected; empty: they can.
  ReplayReport replay(const Payload& payload, const ReplayChanges& changes, const std::string& environment);

 private:
  govern::Json event_at(std::uint64_t entry, ReplayReport& report) const;
  std::optional<Payload> payload_at(std::uint64_t entry, const govern::Json& event, ReplayReport& report) const;
  void compare_environment(const govern::Json& event, ReplayReport& report) const;
  std::string manifest_of(const std::string& model, const std::string& version) const;
  std::shared_ptr<const Served> definition(const Payload& payload, const ReplayChanges& changes, ReplayReport& report);
  Outcome run(const std::shared_ptr<const Served>& served, const Payload& payload, const ReplayChanges& changes,
              const std::shared_ptr<Recording>& recording);

  const std::string folder_;
  const std::unique_ptr<govern::SubjectKeys> keys_;  ///< null: none
  const Environment here_;
  Workers workers_{2};
  StateStore states_;
  KeptDefinitions kept_;
  mutable govern::PayloadIndex payloads_;
};

}  // namespace frazil::server
