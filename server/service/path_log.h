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

#include "server/config/server_config.h"
#include "server/core/json_text.h"
#include "server/request/labels.h"
#include "server/request/path_record.h"
#include "server/request/recording.h"

namespace frazil::server {

/// A completed request and its path.
struct RequestRecord {
  std::uint64_t number = 0;
  std::int64_t began_ns = 0;  ///< in nanoseconds since 1970
  Clock::duration time{0};    ///< from arrival to answer
  std::uint64_t parts = 0;    ///< partial answers before the last one
  Clock::duration first_part{0};
  std::string id, model, version, digest;
  std::string tenant;  ///< tenant of the caller; empty: no tenants
  std::string trace;   ///< header traceparent; empty: none
  Http status = Http::ok;
  std::string error;
  std::vector<PathRecord::Step> steps;
  std::map<std::string, Parameter> parameters;
  std::vector<NamedArray> inputs, outputs;  ///< including the sequence's state; stored only for replays
  std::vector<Happening> happenings;        ///< what its inputs do not determine; stored only for replays
  std::vector<std::string> redacted;        ///< names of inputs and outputs whose values are hidden
  std::shared_ptr<const Labels> labels;     ///< of the version; null: nothing is personal
};

/// Hides what is personal by the labels of the record.
void hide_personal(RequestRecord& record);

/// Hides the values of inputs and outputs with these names wherever the record is shown, including the reasons of its
/// steps. The values are kept for replays.
void redact(RequestRecord& record, const std::vector<std::string>& list);

/// Returns true if the values of an input or output are not shown.
bool is_hidden(const RequestRecord& record, std::string_view name);
/// Returns "(redacted)", or a short text for the value.
std::string shown_value(const RequestRecord& record, const NamedArray& named);

/// A ring buffer of the latest records, searchable, with sampling. Thread-safe.
class PathLog {
 public:
  explicit PathLog(const PathConfig& config) { replace(config); }

  /// Replaces the configuration. Drops the oldest records beyond the new limit and applies new redactions to stored
  /// ones.
  void replace(const PathConfig& config);
  /// Returns true if requests are stored with their inputs.
  bool keeps_inputs() const { return inputs_.load(std::memory_order_relaxed); }
  /// The requests that are recorded.
  struct Sampling {
    bool on = true;
    double share = 1;  ///< above 0
  };
  Sampling sampling() const { return {.on = on_.load(), .share = share_.load()}; }
  /// Returns the sampling of the configuration.
  Sampling configured_sampling() const;
  /// Replaces the sampling until replace().
  void set_sampling(const Sampling& sampling);
  /// Returns false if the configured limit of stored records is 0.
  bool keeps_any() const { return most_.load(std::memory_order_relaxed) > 0; }
  /// Returns a record for a request that begins now, or null if it is not sampled.
  std::shared_ptr<PathRecord> begin(Clock::time_point arrived) const;
  /// Stores a record and assigns its number. The oldest are dropped beyond the configured count or 64 MiB of tensors.
  std::shared_ptr<const RequestRecord> end(std::shared_ptr<RequestRecord> record);

  struct Query {
    std::string model, id, taken, error;  ///< `taken` and `error` match substrings; empty: any
    std::string node;                     ///< a step of this node; empty: any
    std::optional<std::uint64_t> slower_us;
    std::uint64_t after = 0;  ///< records with greater numbers
    std::size_t most = 100;
    Tenants::Identity identity = {};  ///< the caller that the result is for
  };
  /// Returns matches, latest first.
  std::vector<std::shared_ptr<const RequestRecord>> find(const Query& query) const;
  /// Returns null if the record is not stored or the caller may not see it.
  std::shared_ptr<const RequestRecord> find(std::uint64_t number, const Tenants::Identity& identity = {}) const;

 private:
  void drop_oldest_locked();

  std::atomic<std::uint64_t> most_ = 0;
  std::atomic<bool> on_ = false;
  std::atomic<double> share_ = 1;
  std::atomic<bool> inputs_ = false;
  mutable std::mutex mutex_;  // guards the members below
  double configured_ = 0;     // share of requests in the configuration
  std::vector<std::string> redact_;
  std::deque<std::shared_ptr<const RequestRecord>> ring_;
  std::uint64_t next_ = 1;
  std::size_t bytes_ = 0;
};

/// Writes a record as an object without its steps, but with the branches that they took.
void write_brief_record(JsonText& json, const RequestRecord& record);

/// Writes a record as one object. `tensors`: include abbreviated inputs and outputs.
void write_record(JsonText& json, const RequestRecord& record, bool tensors);

}  // namespace frazil::server
