#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/batch/batcher.h"
#include "server/config/model_config.h"
#include "server/model/served.h"
#include "server/state/state_store.h"

namespace frazil::server {

/// Throws Refusal (bad_request) for a parent that the request cannot have.
void check_sequence(const SequencePart& sequence);

/// The turns of a model's sequences: inputs come from the state of the request's sequence, and results go there.
/// Thread-safe.
class SequenceTurns {
 public:
  using Run = std::function<void(Job)>;
  /// `run` runs a job. Throws api::Error (bad_input) for states that do not fit the model. `served` outlives this
  /// object.
  SequenceTurns(const Served& served, Sequences sequences, std::string digest, StateStore& states, Run run);

  bool any() const { return !sequences_.states.empty(); }
  /// Runs the job as the next turn of its request's sequence. Throws Refusal (bad_request).
  void begin(Job job) const;

 private:
  using Values = std::expected<std::vector<api::Array>, Refusal>;

  void begin(Job job, State::Ptr parent) const;
  void take_turn(Job job, const State::Ptr& state, State::Ptr parent) const;
  void end_turn(const Call& call, const Values& values, const std::string& print) const;
  void repeat(Job job, const State& state) const;
  /// Returns the key of a sequence of the caller's tenant.
  StateKey state_key(const Call& call, const std::string& sequence) const;
  State::Ptr origin_of(const SequencePart& sequence, const State::Ptr& state, State::Ptr parent) const;
  State::Ptr check_own(const std::string& sequence, State::Ptr state) const;
  std::optional<std::string> growing_link(std::size_t output) const;
  api::Array first_state(std::size_t link) const;

  const Served& served_;
  const Sequences sequences_;
  const std::string digest_;
  StateStore& states_;
  const Run run_;
  const std::shared_ptr<const Growing> growing_;
};

}  // namespace frazil::server
