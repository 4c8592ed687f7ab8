#include "server/service/path_recorder.h"

#include <algorithm>
#include <utility>

#include "server/core/port.h"

namespace frazil::server {

void PathRecorder::record(Call& call, const Served& target, bool hides_unknown) {
  call.path = log_.begin(call.arrived);
  if (call.path == nullptr) return;
  const bool inputs = log_.keeps_inputs();
  auto record = std::make_shared<RequestRecord>();
  record->began_ns = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  record->id = call.record_id;
  record->tenant = call.identity.name();
  record->trace = call.trace;
  record->parameters = call.request.parameters;
  if (inputs) {
    record->inputs = call.request.inputs;
    if (call.recording == nullptr) call.recording = std::make_shared<Recording>();
  }
  if (hides_unknown) {
    std::erase_if(record->inputs, [&](const NamedArray& one) { return !position_of(target.inputs(), one.first); });
  }
  record->model = target.name();
  record->version = target.version();
  record->digest = target.digest();
  record->labels = target.governance().labels;
  if (call.part) {
    call.part = [record, arrived = call.arrived, part = std::move(call.part)](InferResponse response) {
      if (record->parts++ == 0) record->first_part = Clock::now() - arrived;
      part(std::move(response));
    };
  }
  call.done = [this, record, inputs, path = call.path, recording = call.recording, arrived = call.arrived,
               done = std::move(call.done)](Outcome outcome) {
    record->time = Clock::now() - arrived;
    record->steps = path->take_steps();
    if (inputs) record->happenings = recording->happenings().value_or(std::vector<Happening>());
    if (!outcome) {
      record->status = outcome.error().status();
      record->error = outcome.error().what();
    } else if (inputs) {
      record->outputs = outcome->outputs;
      std::ranges::move(path->state(), std::back_inserter(record->inputs));
    }
    hide_personal(*record);
    const auto kept = log_.end(record);
    if (const auto to = collector()) to->send(kept);
    done(std::move(outcome));
  };
}

std::shared_ptr<Otlp> PathRecorder::collector_of(const PathConfig& config) const {
  return config.otlp.empty() ? nullptr : std::make_shared<Otlp>(config.otlp, config.otlp_tls, governor_);
}

void PathRecorder::set_collector(std::shared_ptr<Otlp> collector) {
  const std::scoped_lock lock(mutex_);
  collector_.swap(collector);
  sends_spans_ = collector_ != nullptr;
}

std::shared_ptr<Otlp> PathRecorder::collector() const {
  if (!sends_spans_.load(std::memory_order_relaxed)) return nullptr;
  const std::scoped_lock lock(mutex_);
  return collector_;
}

}  // namespace frazil::server
