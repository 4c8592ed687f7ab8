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

#include "server/caller.h"
#include "server/clock.h"
#include "server/message.h"
#include "server/tenants.h"

// A request for a model's results as plain data, whatever protocol it came by.
namespace frazil::server {

using NamedArray = std::pair<std::string, api::Array>;

struct WantedOutput {
  std::string name;
  std::optional<bool> binary;  ///< of REST: as binary data; unset: as the request has it
  std::uint64_t classes = 0;  ///< so many of the largest values with their indices instead of the tensor; 0: the tensor
};

/// A request's place in a sequence of requests that share state: Triton's sequence extension.
struct SequencePart {
  std::string id;  ///< empty: it is in none
  bool start = false, end = false;
  bool start_if_new = false;  ///< an id that is not known starts a sequence instead of being refused
  std::string parent;         ///< where it starts it has this sequence's state; empty: none
};

/// The place of a request that names no sequence, but came in a session.
inline SequencePart in_session(std::string session, SequencePart asked) {
  return {.id = std::move(session), .start_if_new = true, .parent = std::move(asked.parent)};
}

using Parameter = std::variant<bool, std::int64_t, double, std::string>;

struct InferRequest {
  std::string id;  ///< echoed
  std::vector<NamedArray> inputs;
  std::vector<WantedOutput> outputs;  ///< empty: all
  bool binary_outputs = false;
  std::optional<std::uint64_t> timeout_us;  ///< microseconds from the request's arrival; 0: the server's
  std::uint64_t priority = 0;               ///< 1 is the highest; 0: the model's default
  SequencePart sequence;
  std::map<std::string, Parameter> parameters;  ///< that the protocol does not reserve
  std::map<std::string, std::string> choices;   ///< branches that nodes of a pipeline take, whatever their formula says
};

struct InferResponse {
  std::string model, version, id;
  std::vector<NamedArray> outputs;  ///< in the order in which the request wants them
};

using Outcome = std::expected<InferResponse, Refusal>;

class PathRecord;
class Served;

/// A request on its way. Moves from stage to stage; exactly one of them calls `done`.
struct Call {
  InferRequest request;
  std::shared_ptr<Caller> caller;
  Tenants::Asker asker = {};  ///< of a client's request
  Clock::time_point arrived;
  std::optional<Clock::time_point> deadline;
  std::shared_ptr<const Served> target;  ///< keeps the version that serves it
  std::shared_ptr<PathRecord> path;      ///< what is noted of its way; may be null
  std::string trace;                     ///< W3C's traceparent; empty: none
  std::string node;                      ///< of the pipeline that asks; empty: a client does
  /// Takes parts, answers before the last one that have outputs of Served::emitted(): one after the other, and all
  /// before `done`. On any thread. What it throws fails the request. Who is known to have left gets none. Null: one
  /// answer is wanted.
  std::function<void(InferResponse)> part;
  std::function<void(Outcome)> done;  ///< on any thread; must not throw
};

}  // namespace frazil::server
