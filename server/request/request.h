#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <frazil/array.h>

#include "server/access/request_cost.h"
#include "server/access/tenants.h"
#include "server/core/caller.h"
#include "server/core/clock.h"
#include "server/core/message.h"

// An inference request as plain data, independent of the protocol.
namespace frazil::server {

using NamedArray = std::pair<std::string, api::Array>;

/// Bytes of a region of shared memory that the client has registered.
struct SharedPlace {
  std::string region;
  std::uint64_t offset = 0, bytes = 0;  ///< within the region
};

/// An input in shared memory, which is read when the request runs.
struct SharedInput {
  std::string name;
  api::Dtype dtype;
  api::Sizes sizes;
  SharedPlace place;
};

struct WantedOutput {
  std::string name;
  std::optional<bool> binary;              ///< REST: as binary data; nullopt: the request's default
  std::uint64_t classes = 0;               ///< return the largest N values with indices; 0: the tensor
  std::optional<SharedPlace> shared = {};  ///< write it there instead of into the response
};

/// A request's position in a sequence of requests that share state (Triton's sequence extension).
struct SequencePart {
  std::string id;  ///< empty: no sequence
  bool start = false, end = false;
  bool start_if_new = false;  ///< an unknown id starts a sequence instead of being refused
  std::string parent;         ///< sequence whose state a started sequence copies; empty: none
};

/// Returns the sequence of a request that names none but belongs to a session.
inline SequencePart in_session(std::string session, SequencePart asked) {
  return {.id = std::move(session), .start_if_new = true, .parent = std::move(asked.parent)};
}

using Parameter = std::variant<bool, std::int64_t, double, std::string>;

struct InferRequest {
  std::string id;  ///< echoed in the response
  std::vector<NamedArray> inputs;
  std::vector<SharedInput> shared_inputs;  ///< inputs that are still to be read
  std::vector<WantedOutput> outputs;       ///< empty: all
  bool binary_outputs = false;
  std::optional<std::uint64_t> timeout_us;  ///< from the request's arrival; 0: the server's default
  std::uint64_t priority = 0;               ///< 1 is the highest; 0: the model's default
  SequencePart sequence;
  std::map<std::string, Parameter> parameters;  ///< parameters not reserved by the protocol
  std::map<std::string, std::string> choices;   ///< forced branches by pipeline node, overriding formulas
};

/// Begins the parameters of an answer that name the arms of splits: "frazil.arm.SPLIT".
inline constexpr const char* kArmParameter = "frazil.arm.";

struct InferResponse {
  std::string model, version, id;
  std::vector<NamedArray> outputs;            ///< in the order of the request
  std::map<std::string, SharedPlace> shared;  ///< outputs that were written to shared memory, with their sizes
  std::map<std::string, std::string> arms;    ///< by split: its arm; several arms in a loop, separated by commas
};

using Outcome = std::expected<InferResponse, Refusal>;

class PathRecord;
class Recording;
class Served;

/// A request in progress. It moves from stage to stage; exactly one stage calls `done`.
struct Call {
  InferRequest request;
  std::shared_ptr<Caller> caller;
  Tenants::Identity identity = {};  ///< of a client's request
  Clock::time_point arrived;
  std::optional<Clock::time_point> deadline;
  std::shared_ptr<const Served> target;       ///< keeps the serving version alive
  std::shared_ptr<PathRecord> path;           ///< record of the path; may be null
  std::shared_ptr<RequestCost> cost;          ///< pays for the work; null: the called version's ledger does
  std::shared_ptr<Recording> recording = {};  ///< record for replays, or a replay's; may be null
  std::string trace;                          ///< W3C's traceparent; empty: none
  std::string record_id;                      ///< id of the request as records show it
  std::string node;                           ///< calling node of a pipeline; empty: a client
  bool explicit_version = false;              ///< the client has named the version
  /// Receives parts: answers before the last one with outputs of Served::emitted(). Called in order, before `done`, on
  /// any thread. An exception fails the request. Not called for a caller that has left. Null: only one answer is
  /// wanted.
  std::function<void(InferResponse)> part;
  std::function<void(Outcome)> done;  ///< on any thread; must not throw
};

}  // namespace frazil::server
