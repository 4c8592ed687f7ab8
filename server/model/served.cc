#include "server/model/served.h"

#include <algorithm>

#include <frazil/error.h>

#include "server/core/port.h"
#include "server/request/classify.h"

namespace frazil::server {
namespace {

std::int64_t milliseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

void begin(Statistics& statistics) { statistics.pending.fetch_add(1, std::memory_order_relaxed); }

void count(Statistics& statistics, Clock::duration time, const Outcome& outcome) {
  statistics.pending.fetch_sub(1, std::memory_order_relaxed);
  statistics.duration.add(time);
  if (outcome) {
    statistics.success.add(time);
    statistics.last_inference_ms = milliseconds_since_1970();
    return;
  }
  statistics.fail.add(time);
  const Http status = outcome.error().status();
  if (status == Http::cancelled) statistics.cancelled.fetch_add(1, std::memory_order_relaxed);
  if (status == Http::too_many) statistics.rejected.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

const std::vector<std::string>& Served::labels(std::string_view) const {
  static const std::vector<std::string> none;
  return none;
}

const ModelConfig& Served::config() const {
  static const ModelConfig usual;
  return usual;
}

bool is_state(const Served& served, std::string_view input) {
  const auto& states = served.config().sequences.states;
  return std::ranges::find(states, input, &StateLink::input) != states.end();
}

const std::vector<api::Port>& Served::emitted() const {
  static const std::vector<api::Port> none;
  return none;
}

std::vector<api::Port> Served::all_outputs() const {
  std::vector<api::Port> all = outputs();
  for (const api::Port& port : emitted()) {
    if (!position_of(outputs(), port.name)) all.push_back(port);
  }
  return all;
}

const Statistics& Served::statistics_for(const Tenants::Identity& identity) const {
  return identity.is_admin() ? counted_->all : counted_->of(identity.name());
}

Clock::duration Served::expected_time() const { return counted_->all.run_time.value(); }

void Served::infer(Call call) const {
  count_for(call.identity, begin);
  call.done = [self = shared_from_this(), identity = call.identity, arrived = call.arrived, id = call.request.id,
               done = std::move(call.done)](Outcome outcome) {
    if (outcome) {
      outcome->model = self->name();
      outcome->version = self->version();
      outcome->id = id;
    }
    const auto time = Clock::now() - arrived;
    self->count_for(identity, [&](Statistics& s) { count(s, time, outcome); });
    done(std::move(outcome));
  };
  if (call.part) count_parts(call);
  const auto done = call.done;
  try {
    check_wanted(call);
    start(std::move(call));
  } catch (...) {
    done(std::unexpected(refusal_of_exception()));
  }
}

/// Wraps `call.part` to count and label the parts. Wraps `call.done` to report a caller that did not read its parts.
void Served::count_parts(Call& call) const {
  if (emitted().empty()) return void(call.part = nullptr);
  call.part = [this, identity = call.identity, arrived = call.arrived, id = call.request.id, first = true,
               part = std::move(call.part)](InferResponse response) mutable {
    response.model = name();
    response.version = version();
    response.id = id;
    const auto time = Clock::now() - arrived;
    count_for(identity, [&, first = std::exchange(first, false)](Statistics& s) {
      if (first) {
        s.first_part.add(time);
        s.first_part_time.add(time);
      }
      s.parts.fetch_add(1, std::memory_order_relaxed);
    });
    part(std::move(response));
  };
  call.done = [caller = call.caller, done = std::move(call.done)](Outcome outcome) {
    if (!outcome && caller != nullptr && caller->slow()) {
      outcome = std::unexpected(Refusal(Http::cancelled, "the caller does not read: parts of more than " +
                                                             std::to_string(Caller::kMaxInFlight) + " bytes wait"));
    }
    done(std::move(outcome));
  };
}

void Served::count_unread(const Tenants::Identity& identity, Clock::time_point arrived, const Refusal& why) const {
  const auto time = Clock::now() - arrived;
  const Outcome outcome = std::unexpected(why);
  count_for(identity, [&](Statistics& s) {
    begin(s);
    count(s, time, outcome);
  });
}

InferResponse Served::respond(const InferRequest& request, std::vector<api::Array> values) const {
  InferResponse response;
  if (request.outputs.empty()) {
    for (std::size_t i = 0; i < values.size(); ++i)
      response.outputs.emplace_back(outputs()[i].name, std::move(values[i]));
    return response;
  }
  for (const WantedOutput& wanted : request.outputs) {
    if (const auto at = position_of(outputs(), wanted.name)) {
      response.outputs.emplace_back(wanted.name, wanted_form(wanted, values[*at]));
    }
  }
  return response;
}

InferResponse Served::part_of(const InferRequest& request, std::vector<NamedArray> values) const {
  InferResponse response;
  if (request.outputs.empty()) response.outputs = std::move(values);
  for (const WantedOutput& wanted : request.outputs) {
    const auto value = std::ranges::find(values, wanted.name, &NamedArray::first);
    if (value != values.end()) response.outputs.emplace_back(wanted.name, wanted_form(wanted, value->second));
  }
  return response;
}

api::Array Served::wanted_form(const WantedOutput& wanted, const api::Array& value) const {
  return wanted.classes == 0 ? value : classes_of(value, wanted.classes, labels(wanted.name), wanted.name);
}

/// Refuses unknown outputs, and outputs that are only sent in parts if no parts are wanted.
void Served::check_wanted(const Call& call) const {
  for (const WantedOutput& wanted : call.request.outputs) {
    if (position_of(outputs(), wanted.name)) continue;
    const std::string what = "output '" + wanted.name + "'";
    if (!position_of(emitted(), wanted.name)) {
      throw Refusal(Http::bad_request, "model '" + name() + "' has no " + what);
    }
    if (!call.part) {
      throw Refusal(Http::bad_request,
                    what + " of model '" + name() + "' is only sent in parts: use generate_stream or ModelStreamInfer");
    }
  }
}

Http status_of(api::Code code, bool out_of_time) {
  switch (code) {
    case api::Code::limit: return out_of_time ? Http::timeout : Http::too_large;
    case api::Code::unsupported: return Http::unsupported;
    case api::Code::out_of_memory: return Http::unavailable;
    case api::Code::cancelled: return Http::cancelled;
    case api::Code::internal: return Http::internal;
    default: return Http::bad_request;
  }
}

Refusal refusal_of_exception(bool out_of_time) {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return refusal;
  } catch (const api::Error& error) {
    return {status_of(error.code(), out_of_time), error.what()};
  } catch (const std::bad_alloc&) {
    return {Http::unavailable, "out of memory"};
  } catch (const std::exception& error) {
    return {Http::internal, error.what()};
  }
}

std::optional<double> milliseconds_left(const Call& call) {
  if (!call.deadline) return std::nullopt;
  const double left = std::chrono::duration<double, std::milli>(*call.deadline - Clock::now()).count();
  if (left <= 0) throw Refusal(Http::timeout, "the time-out has passed before the request could run");
  return left;
}

}  // namespace frazil::server
