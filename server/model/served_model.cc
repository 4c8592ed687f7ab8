#include "server/model/served_model.h"

#include "server/core/port.h"
#include "server/model/responses.h"

namespace frazil::server {

using api::Array;

namespace {

/// Refuses a request outside of a sequence that lacks a state without a default.
void check_states_given(const Served& served, std::span<const Array> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const api::Port& port = served.inputs()[i];
    if (!values[i].empty() || port.optional || !is_state(served, port.name)) continue;
    throw Refusal::plain(
        Http::bad_request,
        "input '" + port.name + "' of model '" + served.name() +
            "' is the state of a sequence, and the request belongs to none: send parameter sequence_id, with "
            "sequence_start for the first request, or header X-Session-Id");
  }
}

}  // namespace

ServedModel::ServedModel(const std::string& name, const std::string& version, Parts parts)
    : Served(name, version), parts_(std::move(parts)) {
  if (parts_.config.deadline_ms) parts_.options.deadline_ms = parts_.config.deadline_ms;
  if (parts_.config.memory_limit) parts_.options.memory_limit = parts_.config.memory_limit;
  digest_ = parts_.model.digest();
  shapes_ = RequestShapes(name, parts_.config, inputs(), outputs());
  turns_.emplace(*this, parts_.config.sequences, digest_, *parts_.states,
                 [this](Job job) { runner_->enqueue(std::move(job)); });
  runner_.emplace(*this, parts_);
  parts_.canaries.clear();
}

std::optional<std::size_t> ServedModel::batch_axis_of_input(std::size_t i) const {
  const BatchPlan* const plan = runner_->plan();
  return plan != nullptr ? plan->axis_of_input(i) : std::nullopt;
}

std::optional<std::size_t> ServedModel::batch_axis_of_output(std::size_t i) const {
  const BatchPlan* const plan = runner_->plan();
  return plan != nullptr ? plan->axis_of_output(i) : std::nullopt;
}

bool ServedModel::needs(const api::Port& input) const { return !input.optional && !is_state(*this, input.name); }

Served::Checked ServedModel::checked() const { return runner_->checked(); }

const std::vector<std::string>& ServedModel::labels(std::string_view output) const {
  const auto at = parts_.labels.find(output);
  return at == parts_.labels.end() ? Served::labels(output) : at->second;
}

std::vector<Array> ServedModel::inputs_of(InferRequest& request) const {
  std::vector<Array> values(inputs().size());
  for (auto& [name, value] : request.inputs) {
    const auto at = position_of(inputs(), name);
    if (!at) throw Refusal(Http::bad_request, "model '" + this->name() + "' has no input '" + name + "'");
    if (!values[*at].empty()) throw Refusal(Http::bad_request, "input '" + name + "' is given twice");
    values[*at] = std::move(value);
  }
  shapes_.check(values);
  return values;
}

std::optional<Clock::duration> ServedModel::usual_limit() const {
  if (parts_.config.batching.time_out) return *parts_.config.batching.time_out;
  return parts_.options.deadline_ms ? std::optional(duration_of(*parts_.options.deadline_ms)) : std::nullopt;
}

void ServedModel::start(Call call) const {
  if (call.recording == nullptr || call.recording->plays()) return begin(std::move(call));
  record_failure(call);
  const auto done = call.done;
  try {
    begin(std::move(call));
  } catch (...) {
    done(std::unexpected(refusal_of_exception()));
  }
}

void ServedModel::record_failure(Call& call) const {
  call.done = [recording = call.recording, node = call.node, taken = name() + '/' + version(),
               done = std::move(call.done)](Outcome outcome) {
    if (!outcome) {
      const Refusal& why = outcome.error();
      recording->add({.node = node, .kind = "run", .taken = taken, .failure = std::pair(why.status(), why.what())});
    }
    done(std::move(outcome));
  };
}

bool ServedModel::take_recorded(Job& job) const {
  Recording& recording = *job.call.recording;
  const std::string node = job.call.node;
  const bool repeated = recording.next_kind(node) == "repeat";
  auto recorded = recording.next(node, repeated ? "repeat" : "run");
  job.recorded = RunShape{.way = RunShape::Way::joined};
  if (!recorded) return recording.differ(node, "a run that the record does not have"), true;
  // What became of a sequence depends on the state of other requests.
  if (recorded->failure && (is_transient(recorded->failure->first) || turns_->any())) {
    job.finish(std::move(job.call), std::unexpected(Refusal(recorded->failure->first, recorded->failure->second)));
    return false;
  }
  if (repeated) {
    std::vector<Array> values;
    for (auto& [name, value] : recorded->values) values.push_back(std::move(value));
    job.finish(std::move(job.call), std::move(values));
    return false;
  }
  if (!recorded->failure) job.recorded = recorded->shape;
  for (auto& [name, value] : recorded->values) {
    const auto at = position_of(inputs(), name);
    if (at && job.inputs[*at].empty()) job.inputs[*at] = std::move(value);
  }
  return true;
}

void ServedModel::begin(Call call) const {
  const bool replay = is_replay(call.recording);
  const auto limit = replay ? std::nullopt : usual_limit();
  if (limit && !call.deadline) call.deadline = call.arrived + *limit;
  Job job{.inputs = inputs_of(call.request),
          .queued = Clock::now(),
          .finish = [this](const Call& ended, std::expected<std::vector<Array>, Refusal> values) {
            if (!values) return ended.done(std::unexpected(std::move(values.error())));
            try {
              ended.done(response_of(*this, ended.request, std::move(*values)));
            } catch (...) {
              ended.done(std::unexpected(refusal_of_exception()));
            }
          }};
  const SequencePart& sequence = call.request.sequence;
  check_sequence(sequence);
  // A session from a header only applies to models with state.
  const bool in_sequence = !sequence.id.empty() && !(sequence.start_if_new && !turns_->any());
  if (!in_sequence && !replay) check_states_given(*this, job.inputs);
  job.call = std::move(call);
  if (replay) return take_recorded(job) ? runner_->enqueue(std::move(job)) : void();
  in_sequence ? turns_->begin(std::move(job)) : runner_->enqueue(std::move(job));
}

/// Returns false for models with sequences, whose turns may wait for a folder or for Redis.
bool ServedModel::may_run_inline() const {
  constexpr auto kQuick = std::chrono::microseconds(20);
  const Clock::duration cost = expected_cost(*this);
  return cost > Clock::duration::zero() && cost <= kQuick && !turns_->any();
}

std::optional<Refusal> ServedModel::refusal() const { return runner_->refusal(); }

}  // namespace frazil::server
