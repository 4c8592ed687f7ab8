#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "server/model/served.h"
#include "server/service/otlp.h"
#include "server/service/path_log.h"

namespace frazil::server {

/// Records the paths of requests in a log, and sends them to a collector of spans. Thread-safe.
class PathRecorder {
 public:
  /// `governor`: the policy of connections to a collector; null: none.
  explicit PathRecorder(const PathConfig& config, std::shared_ptr<govern::Governor> governor = nullptr)
      : governor_(std::move(governor)), log_(config) {
    set_collector(collector_of(config));
  }

  PathLog& log() { return log_; }
  const PathLog& log() const { return log_; }
  /// Records the path of a call if the log takes it. `hides_unknown`: leave out inputs that the target does not have,
  /// whose names are the client's. This object must outlive the call.
  void record(Call& call, const Served& target, bool hides_unknown);

  /// Returns the collector of a configuration; null if spans are not sent. Throws api::Error for unusable TLS files.
  std::shared_ptr<Otlp> collector_of(const PathConfig& config) const;
  /// Sends later spans to another collector; null: to none.
  void set_collector(std::shared_ptr<Otlp> collector);

 private:
  std::shared_ptr<Otlp> collector() const;

  const std::shared_ptr<govern::Governor> governor_;
  PathLog log_;
  std::atomic<bool> sends_spans_ = false;
  mutable std::mutex mutex_;  // guards the member below
  std::shared_ptr<Otlp> collector_;
};

}  // namespace frazil::server
