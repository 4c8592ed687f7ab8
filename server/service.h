#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "server/caller.h"
#include "server/message.h"
#include "server/repository.h"

namespace frazil::server {

/// Answers requests of the Open Inference Protocol v2 over REST, with Triton's extensions binary_tensor_data,
/// statistics, model_repository (index) and parameters (timeout). Knows no transport. Thread-safe.
class Service {
 public:
  Service(Repository repository, std::string version)
      : repository_(std::move(repository)), version_(std::move(version)) {}

  /// Never throws. `arrived`: when the request was there, for times and time-outs.
  Reply answer(const Message& message, Caller& caller, std::chrono::steady_clock::time_point arrived) const;
  /// Metrics as Prometheus reads them.
  Reply metrics() const;

  /// From now on it is not ready: no new requests should come.
  void drain() { ready_ = false; }
  /// Counts requests that the transport refuses because too many wait.
  void refused() { refused_.fetch_add(1, std::memory_order_relaxed); }

 private:
  struct Path;
  Reply route(const Message& message, Caller& caller, std::chrono::steady_clock::time_point arrived) const;
  Reply of_model(const Message& message, const Path& path, Caller& caller,
                 std::chrono::steady_clock::time_point arrived) const;
  Reply infer(const ServedModel& served, const Message& message, Caller& caller,
              std::chrono::steady_clock::time_point arrived) const;
  Reply server_metadata() const;
  Reply index() const;

  Repository repository_;
  std::string version_;
  std::atomic<bool> ready_ = true;
  std::atomic<std::uint64_t> refused_ = 0;
};

}  // namespace frazil::server
