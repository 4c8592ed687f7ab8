#pragma once

#include <memory>
#include <span>
#include <string>

#include "server/path_log.h"

namespace frazil::server {

/// Sends requests' ways to a collector as spans: OTLP over HTTP in JSON
/// (https://opentelemetry.io/docs/specs/otlp/#otlphttp), a span for the request, whose parent is the caller's, and one
/// for each step. A thread of its own sends them in groups. What the collector does not take is dropped and counted.
class Otlp {
 public:
  /// `collector`: HOST:PORT. Throws api::Error (bad_input) for another text.
  explicit Otlp(const std::string& collector);
  ~Otlp();
  Otlp(const Otlp&) = delete;
  Otlp& operator=(const Otlp&) = delete;

  /// Does not wait. Thread-safe.
  void send(std::shared_ptr<const Journey> journey);
  std::uint64_t dropped() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The body of a request to the collector with the spans of these journeys.
std::string spans_body(std::span<const std::shared_ptr<const Journey>> journeys);

}  // namespace frazil::server
