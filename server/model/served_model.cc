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
  if (const auto limit = usual_limit(); limit && !call.deadline) call.deadline = call.arrived + *limit;
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
  if (!in_sequence) check_states_given(*this, job.inputs);
  job.call = std::move(call);
  in_sequence ? turns_->begin(std::move(job)) : runner_->enqueue(std::move(job));
}

/// Returns false for models with sequences, whose turns may wait for a folder or for Redis.
bool ServedModel::may_run_inline() const {
  constexpr auto kQuick = std::chrono::microseconds(20);
  const Clock::duration cost = expected_cost();
  return cost > Clock::duration::zero() && cost <= kQuick && !turns_->any();
}

std::optional<Refusal> ServedModel::refusal() const { return runner_->refusal(); }

}  // namespace frazil::server
