#include "server/model/served.h"

#include <algorithm>

#include <frazil/error.h>

#include "server/core/port.h"
#include "server/model/responses.h"

namespace frazil::server {
const std::vector<std::string>& Served::labels(std::string_view) const {
  static const std::vector<std::string> none;
  return none;
}

const ModelConfig& Served::config() const {
  static const ModelConfig usual;
  return usual;
}

std::vector<api::Port> all_outputs(const Served& served) {
  std::vector<api::Port> all = served.outputs();
  for (const api::Port& port : served.emitted()) {
    if (!position_of(served.outputs(), port.name)) all.push_back(port);
  }
  return all;
}

bool is_state(const Served& served, std::string_view input) {
  const auto& states = served.config().sequences.states;
  return std::ranges::find(states, input, &StateLink::input) != states.end();
}

const std::vector<api::Port>& Served::emitted() const {
  static const std::vector<api::Port> none;
  return none;
}

Clock::duration Served::expected_time() const { return counts_->all().run_time.value(); }

void Served::infer(Call call) const {
  counts_->begin(call.identity);
  call.done = [self = shared_from_this(), identity = call.identity, arrived = call.arrived, id = call.request.id,
               done = std::move(call.done)](Outcome outcome) {
    if (outcome) {
      outcome->model = self->name();
      outcome->version = self->version();
      outcome->id = id;
    }
    self->counts_->end(identity, Clock::now() - arrived, outcome);
    done(std::move(outcome));
  };
  if (call.part) count_parts(call);
  if (call.cost == nullptr) {
    call.cost =
        std::make_shared<RequestCost>(RequestCost::Payer{.ledger = counts_->costs(), .tenant = call.identity.name()});
  }
  const BusyScope scope(call.cost);
  const auto done = call.done;
  try {
    check_wanted(*this, call);
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
    counts_->add_part(identity, Clock::now() - arrived, std::exchange(first, false));
    part(std::move(response));
  };
  call.done = [caller = call.caller, done = std::move(call.done)](Outcome outcome) {
    if (!outcome && caller != nullptr && caller->slow()) {
      outcome =
          std::unexpected(Refusal::plain(Http::cancelled, "the caller does not read: parts of more than " +
                                                              std::to_string(Caller::kMaxInFlight) + " bytes wait"));
    }
    done(std::move(outcome));
  };
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
