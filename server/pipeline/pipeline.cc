#include "server/pipeline/pipeline.h"

#include <algorithm>

#include "server/core/port.h"
#include "server/model/responses.h"

namespace frazil::server {
namespace {

/// Refuses a value that does not match the input's type. Free extents are checked by the models.
void check_input(const api::Port& port, const api::Array& value) {
  const std::string what = "input '" + port.name + "'";
  if (value.empty()) throw Refusal::plain(Http::bad_request, what + " is missing");
  const bool rank = !port.ranked || (value.is_tensor() && value.sizes().size() == port.dims.size());
  bool fits = value.is_tensor() && value.dtype() == port.dtype && rank;
  for (std::size_t i = 0; fits && port.ranked && i < port.dims.size(); ++i) {
    fits = fixed_extent(port.dims[i]).value_or(value.sizes()[i]) == value.sizes()[i];
  }
  if (!fits) throw Refusal(Http::bad_request, "expected " + port.type + ", got " + value.str()).after(what + ": ");
}

}  // namespace

bool Pipeline::is_up_to_date(const Repository& models) const {
  return std::ranges::all_of(uses(), [&](const Use& use) { return models.find(use.model, use.version) == use.target; });
}

/// Returns an emitter that passes the wanted values to `part`; null if `part` is null.
std::shared_ptr<Emitter> Pipeline::emitter_for(std::shared_ptr<const InferRequest> request,
                                               std::function<void(InferResponse)> part) const {
  if (!part) return nullptr;
  auto emitter = std::make_shared<Emitter>();
  emitter->give = [this, request = std::move(request), part = std::move(part)](std::vector<NamedArray> values) {
    InferResponse response = part_response_of(*this, *request, std::move(values));
    if (response.outputs.empty()) return false;
    part(std::move(response));
    return true;
  };
  return emitter;
}

void Pipeline::start(Call call) const {
  std::vector<api::Array> values(inputs().size());
  for (auto& [name, value] : call.request.inputs) {
    const auto at = position_of(inputs(), name);
    if (!at) throw Refusal(Http::bad_request, "pipeline '" + this->name() + "' has no input '" + name + "'");
    values[*at] = std::move(value);
  }
  for (std::size_t i = 0; i < inputs().size(); ++i) check_input(inputs()[i], values[i]);
  const auto limit = is_replay(call.recording) ? std::nullopt : usual_limit();
  if (limit && !call.deadline) call.deadline = call.arrived + *limit;
  call.request.inputs.clear();
  const auto request = std::make_shared<const InferRequest>(std::move(call.request));
  const auto flow =
      std::make_shared<const Flow>(Flow{.request = request,
                                        .emitter = emitter_for(request, std::move(call.part)),
                                        .caller = call.caller != nullptr ? call.caller : std::make_shared<Caller>(),
                                        .identity = call.identity,
                                        .deadline = call.deadline,
                                        .arrived = call.arrived,
                                        .cost = call.cost,
                                        .trace = call.trace,
                                        .path = call.path,
                                        .recording = call.recording,
                                        .place = call.node.empty() ? "" : call.node + ".",
                                        .pipeline = shared_from_this()});
  graph_.run(flow, std::move(values), [this, flow, done = std::move(call.done)](StepResult results) {
    statistics().cost.add(Clock::now() - flow->arrived);
    if (!results) return done(std::unexpected(std::move(results.error())));
    try {
      done(response_of(*this, *flow->request, std::move(*results)));
    } catch (...) {
      done(std::unexpected(refusal_of_exception()));
    }
  });
}

}  // namespace frazil::server
