#include "server/served.h"

#include <algorithm>

#include <frazil/error.h>

#include "server/classify.h"
#include "server/port.h"

namespace frazil::server {
namespace {

std::int64_t milliseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

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

std::size_t output_of(const Served& served, const std::string& output) {
  if (const auto at = position_of(served.outputs(), output)) return *at;
  throw Refusal(Http::bad_request, "model '" + served.name() + "' has no output '" + output + "'");
}

}  // namespace

const std::vector<std::string>& Served::labels(std::string_view) const {
  static const std::vector<std::string> none;
  return none;
}

Clock::duration Served::expected_time() const { return statistics_->run_time.value(); }

void Served::infer(Call call) const {
  statistics_->pending.fetch_add(1, std::memory_order_relaxed);
  call.done = [self = shared_from_this(), arrived = call.arrived, id = call.request.id,
               done = std::move(call.done)](Outcome outcome) {
    if (outcome) {
      outcome->model = self->name();
      outcome->version = self->version();
      outcome->id = id;
    }
    count(self->statistics(), Clock::now() - arrived, outcome);
    done(std::move(outcome));
  };
  const auto done = call.done;
  try {
    check_wanted(call.request);
    start(std::move(call));
  } catch (...) {
    done(std::unexpected(refusal_of_exception()));
  }
}

void Served::count_unread(Clock::time_point arrived, const Refusal& why) const {
  statistics().pending.fetch_add(1, std::memory_order_relaxed);
  count(statistics(), Clock::now() - arrived, std::unexpected(why));
}

InferResponse Served::respond(const InferRequest& request, std::vector<api::Array> values) const {
  InferResponse response;
  if (request.outputs.empty()) {
    for (std::size_t i = 0; i < values.size(); ++i)
      response.outputs.emplace_back(outputs()[i].name, std::move(values[i]));
    return response;
  }
  for (const WantedOutput& wanted : request.outputs) {
    const api::Array& value = values[output_of(*this, wanted.name)];
    const bool whole = wanted.classes == 0;
    response.outputs.emplace_back(wanted.name,
                                  whole ? value : classes_of(value, wanted.classes, labels(wanted.name), wanted.name));
  }
  return response;
}

void Served::check_wanted(const InferRequest& request) const {
  for (const WantedOutput& wanted : request.outputs) output_of(*this, wanted.name);
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
