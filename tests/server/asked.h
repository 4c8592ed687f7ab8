#pragma once

#include <functional>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/folder.h"

// Requests without a protocol.
namespace frazil::test {

struct Asking {
  std::string model;
  std::vector<server::NamedArray> inputs;
  server::SequencePart sequence = {};
  std::map<std::string, server::Parameter> parameters = {};
  std::vector<server::WantedOutput> outputs = {};
  std::function<void(server::InferResponse)> part = {};
  std::optional<std::uint64_t> timeout_us = {};
  std::shared_ptr<server::Caller> caller = std::make_shared<server::Caller>();
  std::shared_ptr<server::PathRecord> path = {};
  std::string id = {};
  std::uint64_t priority = 0;
  std::map<std::string, std::string> choices = {};
  std::function<void()> then = [] {};  ///< when it is answered
};

/// Asks on a worker, as transports do.
inline std::future<server::Outcome> ask(server::Service& service, Asking asking) {
  auto promise = std::make_shared<std::promise<server::Outcome>>();
  auto future = promise->get_future();
  const auto arrived = server::Clock::now();
  service.workers().post([&service, asking = std::move(asking), promise, arrived] {
    server::Call call{.caller = asking.caller, .arrived = arrived, .path = asking.path};
    call.request.id = asking.id;
    call.request.inputs = asking.inputs;
    call.request.sequence = asking.sequence;
    call.request.parameters = asking.parameters;
    call.request.outputs = asking.outputs;
    call.part = asking.part;
    call.request.timeout_us = asking.timeout_us;
    call.request.priority = asking.priority;
    call.request.choices = asking.choices;
    call.done = [promise, then = asking.then](server::Outcome outcome) {
      then();
      promise->set_value(std::move(outcome));
    };
    service.infer(service.models().find(asking.model, ""), std::move(call));
  });
  return future;
}

/// The runs of model "m" by the number of requests in them.
inline std::map<std::uint64_t, std::uint64_t> batch_sizes(const server::Service& service) {
  std::map<std::uint64_t, std::uint64_t> counts;
  for (const auto& [size, runs] : service.models().find("m", "")->statistics().batches.by_size())
    counts[size] = runs.count;
  return counts;
}

/// The floats of the first output; the reason of a refusal fails the test.
inline std::vector<float> floats_of(const server::Outcome& outcome) {
  if (!outcome) {
    ADD_FAILURE() << outcome.error().what();
    return {};
  }
  const auto values = outcome->outputs.at(0).second.values<float>();
  return {values.begin(), values.end()};
}

inline api::Array row(std::initializer_list<float> values) {
  return api::Array::of<float>({1, static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace frazil::test
