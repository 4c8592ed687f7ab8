#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/core/caller.h"
#include "server/core/clock.h"
#include "server/request/path_record.h"
#include "server/request/recording.h"
#include "server/request/request.h"

namespace frazil::server {

/// Receives the parts of a request's answer. Used by one thread at a time.
struct Emitter {
  std::function<bool(std::vector<NamedArray>)> give;  ///< false: the request wants none of these. May throw
  bool begun = false;                                 ///< a part was sent
};

/// A request in a pipeline. Immutable, except for what it refers to.
struct Flow {
  std::shared_ptr<const InferRequest> request;  ///< for its parameters, priority and sequence
  std::shared_ptr<Emitter> emitter;             ///< null: no parts are wanted
  std::shared_ptr<Caller> caller;
  Tenants::Identity identity = {};  ///< of the client's request
  std::optional<Clock::time_point> deadline = {};
  Clock::time_point arrived;
  std::shared_ptr<RequestCost> cost;
  std::string trace;
  std::shared_ptr<PathRecord> path;  ///< may be null
  RecordingPtr recording = {};       ///< may be null
  std::string place = {};  ///< before names of nodes: "" in the requested pipeline, "STEP." in one that STEP calls
  std::shared_ptr<const void> pipeline;  ///< keeps the nodes alive, also for work that ends after the answer

  Clock::duration left() const { return deadline ? *deadline - Clock::now() : Clock::duration::max(); }
  /// Returns the name of a node that is unique in the request, such as "STEP.NAME".
  std::string path_of(const std::string& node) const { return place + node; }
  /// Adds a step of a node to the path.
  void note(PathRecord::Step step) const {
    if (path == nullptr) return;
    step.node = path_of(step.node);
    path->add(std::move(step));
  }
  /// Adds a choice of a node to the path and to the recording, which compares it during a replay.
  void decided(PathRecord::Step step) const {
    if (recording != nullptr) recording->took(path_of(step.node), step.kind, step.taken);
    note(std::move(step));
  }
  /// Returns the outcome that a replay forces for the next choice of a node; nullopt outside of a replay.
  std::optional<std::string> forced(const std::string& node, std::string_view kind) const {
    return is_replay(recording) ? recording->forced(path_of(node), std::string(kind)) : std::nullopt;
  }
  /// Sends a part if parts are wanted. An exception fails the request.
  void emit(std::vector<NamedArray> part) const {
    if (emitter == nullptr || caller->disconnected()) return;
    const bool given = emitter->give(std::move(part));
    emitter->begun |= given;
  }
};

using FlowPtr = std::shared_ptr<const Flow>;

/// Returns a copy of the flow with another caller.
inline FlowPtr with_caller(const Flow& flow, std::shared_ptr<Caller> caller) {
  Flow own = flow;
  own.caller = std::move(caller);
  return std::make_shared<const Flow>(std::move(own));
}

/// Returns a copy of the flow for a block whose events count only if its result is used: see Recording::fork().
inline FlowPtr forked(Flow flow) {
  flow.recording = Recording::fork(flow.recording);
  return std::make_shared<const Flow>(std::move(flow));
}
/// Adds the events of a block whose result is used to those of the flow around it.
inline void join_block(const Flow& around, const Flow& block) {
  if (around.recording != nullptr) around.recording->join(*block.recording);
}

/// Returns a flow for work beside the request: it has its own caller, no path, recording and parts, and costs the
/// model.
inline FlowPtr beside(const Flow& flow, CostAccount account) {
  Flow own = flow;
  own.cost = flow.cost->beside(account);
  own.caller = std::make_shared<Caller>();
  own.path = nullptr;
  own.recording = nullptr;
  own.emitter = nullptr;
  return std::make_shared<const Flow>(std::move(own));
}

}  // namespace frazil::server
