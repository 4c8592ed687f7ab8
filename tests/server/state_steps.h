#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <frazil/array.h>
#include <gtest/gtest.h>

#include "server/state/state_store.h"

// Turns of sequences whose state is a number that counts them.
namespace frazil::test {

std::string message_of(const auto& function) try {
  function();
  return "nothing was thrown";
} catch (const std::exception& error) {
  return error.what();
}

/// The status of a refusal; none: nothing was thrown.
std::optional<server::Http> refusal_of(const auto& function) try {
  function();
  return {};
} catch (const server::Refusal& refusal) {
  return refusal.status();
}

inline server::StateStore::Values state_of(float value, std::int64_t size = 2) {
  api::Array array(api::Dtype::f32, {size});
  for (float& element : array.mutable_values<float>()) element = value;
  return {{"h", std::move(array)}};
}

constexpr float kNew = -1, kLost = -2;

inline float value_of(const server::State::Ptr& state) {
  if (state == nullptr) return kNew;
  return state->is_lost() ? kLost : state->value("h")->values<float>()[0];
}

/// Waits for a turn.
inline float begin(server::StateStore& store, const std::string& key) {
  const auto got = std::make_shared<std::promise<float>>();
  store.begin(key, [got](const server::State::Ptr& state) { got->set_value(value_of(state)); });
  std::future<float> turn = got->get_future();
  if (turn.wait_for(std::chrono::seconds(20)) != std::future_status::ready)
    throw std::runtime_error("the turn of " + key + " never comes");
  return turn.get();
}

/// One turn that counts; returns what it found.
inline float step(server::StateStore& store, const std::string& key,
                  std::chrono::microseconds idle = std::chrono::hours(1), std::int64_t size = 2) {
  const float found = begin(store, key);
  store.end(key, state_of(found + 1, size), idle);
  return found;
}

inline float look(server::StateStore& store, const std::string& key) {
  const float found = begin(store, key);
  store.abandon(key);
  return found;
}

/// Every turn adds one, whatever happens beside it.
inline void count_on(server::StateStore& store, int threads, int turns, int keys, std::int64_t size) {
  std::vector<std::jthread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      for (int i = 0; i < turns; ++i) step(store, "key" + std::to_string((i + t) % keys), std::chrono::hours(1), size);
    });
  }
  all.clear();
  float sum = 0;
  for (int k = 0; k < keys; ++k) sum += look(store, "key" + std::to_string(k)) + 1;
  EXPECT_EQ(sum, threads * turns);
}

}  // namespace frazil::test
