#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/json_text.h"
#include "server/path_record.h"
#include "server/server_config.h"

namespace frazil::server {

/// A request that has ended, with the way that it took.
struct Journey {
  std::uint64_t number = 0;
  std::int64_t began_ns = 0;  ///< since 1970
  Clock::duration time{0};    ///< from arrival to answer
  std::uint64_t parts = 0;    ///< that came before the answer
  Clock::duration first_part{0};
  std::string id, model, version, digest;
  std::string tenant;  ///< who asked; empty: without tenants
  std::string trace;   ///< the header traceparent; empty: none
  Http status = Http::ok;
  std::string error;
  std::vector<PathRecord::Step> steps;
  std::map<std::string, Parameter> parameters;
  std::vector<NamedArray> inputs, outputs;  ///< with the sequence's state; kept only for replays
  std::vector<std::string> redacted;        ///< names of those whose values are not shown
};

/// Hides the values of inputs and outputs of these names, too, wherever the journey is shown, also in the reasons of
/// its steps. Their values stay, for replays.
void redact(Journey& journey, const std::vector<std::string>& list);

/// "(redacted)", or what the value looks like.
std::string shown_value(const Journey& journey, const NamedArray& named);

/// The latest requests' ways, searchable, and which requests have theirs kept. Thread-safe.
class PathLog {
 public:
  explicit PathLog(const PathConfig& config) { replace(config); }

  /// From now on this holds. Of what is kept already the oldest are dropped, and what is hidden now is hidden there,
  /// too.
  void replace(const PathConfig& config);
  /// Whether requests are kept with their inputs.
  bool keeps_inputs() const { return inputs_.load(std::memory_order_relaxed); }
  /// A record for a request that begins now; null for one that is not kept.
  std::shared_ptr<PathRecord> begin(Clock::time_point arrived) const;
  /// Keeps it and gives it a number. The oldest are dropped beyond the configured number, or beyond 64 MiB of tensors.
  std::shared_ptr<const Journey> end(std::shared_ptr<Journey> journey);

  struct Query {
    std::string model, id, taken, error;  ///< equal, or part of a step's branch or of the error; empty: any
    std::optional<std::uint64_t> slower_us;
    std::size_t most = 100;
    Tenants::Asker asker = {};  ///< who is shown them
  };
  /// The latest first.
  std::vector<std::shared_ptr<const Journey>> find(const Query& query) const;
  /// Null for one that is not kept, or not for who asks.
  std::shared_ptr<const Journey> find(std::uint64_t number, const Tenants::Asker& asker = {}) const;

 private:
  void drop_oldest_locked();

  std::atomic<std::uint64_t> most_ = 0;
  std::atomic<double> sample_ = 0;
  std::atomic<bool> inputs_ = false;
  mutable std::mutex mutex_;  // of what follows
  std::vector<std::string> redact_;
  std::deque<std::shared_ptr<const Journey>> ring_;
  std::uint64_t next_ = 1;
  std::size_t bytes_ = 0;
};

/// Writes a journey as one object. `tensors`: with inputs and outputs, abbreviated.
void write_journey(JsonText& json, const Journey& journey, bool tensors);

}  // namespace frazil::server
