#pragma once

#include <memory>
#include <span>
#include <string>

#include "govern/gate/governor.h"
#include "server/config/server_config.h"
#include "server/service/path_log.h"

namespace frazil::server {

/// Exports the paths of requests to a collector as spans in OTLP over HTTP with JSON
/// (https://opentelemetry.io/docs/specs/otlp/#otlphttp). A request becomes a span, whose parent is the caller's, and
/// each step becomes a child span. A background thread sends them in batches. Spans that the collector does not accept
/// are dropped and counted.
class Otlp {
 public:
  /// `collector`: HOST:PORT, or a URL, whose path is by default /v1/traces. Throws api::Error (bad_input) for another
  /// text, and for unusable TLS files.
  /// `governor`: asked for each connection; null: none.
  explicit Otlp(const std::string& collector, const TlsFiles& tls = {},
                std::shared_ptr<govern::Governor> governor = nullptr);
  ~Otlp();
  Otlp(const Otlp&) = delete;
  Otlp& operator=(const Otlp&) = delete;

  /// Enqueues a record without waiting. Thread-safe.
  void send(std::shared_ptr<const RequestRecord> record);
  std::uint64_t dropped() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns the body of an export request with the spans of these records.
std::string spans_body(std::span<const std::shared_ptr<const RequestRecord>> records);

}  // namespace frazil::server
