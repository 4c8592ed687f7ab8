#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <frazil/array.h>

#include "server/config/server_config.h"
#include "server/host/feast_key.h"
#include "server/net/external_gate.h"
#include "server/request/request.h"

// Features of entities, such as a user's history, from Feast's online store in Redis.
namespace frazil::server {

/// The state of a row of features.
enum class FeatureStatus : std::uint8_t {
  present,
  null,       ///< at least one feature has no value and gets its default
  not_found,  ///< the store has no such entity
  too_old,    ///< older than the configured limit
  failed,     ///< the store did not answer in time, or returned an error
};

/// The stored values of one entity, in the order of the view's features. Immutable.
struct FeatureRecord {
  std::vector<FeastValue> values;
  bool found = false;
  double written = 0;      ///< seconds since 1970
  std::uint32_t hash = 0;  ///< hash of the values' bytes
  Clock::time_point read;
};

struct FeatureView {
  std::string redis;  ///< HOST:PORT
  RedisAccess access = {};
  std::string project, view;
  std::vector<std::string> features;
  std::chrono::microseconds time_out = std::chrono::milliseconds(5);  ///< for a look-up; overrun at most 1 ms
  Clock::duration keep = Clock::duration::zero();                     ///< how long a cached record is reused
  std::size_t max_kept = 10'000;                                      ///< cached records, with LRU eviction
};

/// A reader of one feature view. Concurrent look-ups of the same entity share one read. After 5 consecutive look-ups
/// without an answer it sends no requests for one second. Thread-safe.
class FeatureStore {
 public:
  struct Found {
    std::vector<std::shared_ptr<const FeatureRecord>> rows;  ///< one per key; null: failed
    std::size_t kept = 0;                                    ///< rows that were cached
    Clock::duration oldest{0};                               ///< age of the oldest cached row
    std::string why;                                         ///< the reason of the last failure
    std::string redis_error;                                 ///< the text of Redis's error, for the log
    std::optional<std::string> rejection;                    ///< the reason if `may_use` rejects Redis's address
  };

  /// Does not connect yet. Throws api::Error (bad_input) for an invalid address.
  explicit FeatureStore(const FeatureView& view);
  ~FeatureStore();
  FeatureStore(const FeatureStore&) = delete;
  FeatureStore& operator=(const FeatureStore&) = delete;

  /// Looks up keys (feast_key), all in one round trip. Blocks until the view's time-out or `until`, whichever is first.
  /// A caller that waits for another thread's look-up shares its failure. Does not throw for failures of the store.
  /// `may_use`: asked for each look-up with Redis's address, also if the records are cached or another thread reads
  /// them.
  Found look_up(std::span<const std::string> keys, std::optional<Clock::time_point> until, const MayUse& may_use = {});

 private:
  Found looked_up(std::span<const std::string> keys, std::optional<Clock::time_point> until, const MayUse& may_use);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A feature as an input of a model: [N], or [N,L] and its lengths for a list. L is the length of the longest row and
/// at least 1. If a list has more than `list` items, the last ones are used.
struct FeatureColumn {
  std::string name;
  api::Dtype dtype = api::Dtype::f32;      ///< bool, i32, i64, f32, f64 or string
  std::optional<std::uint64_t> list;       ///< the largest L; nullopt: a single value
  FeastValue missing;                      ///< for rows without a value and as padding; none: 0 or ""
  static bool supports(api::Dtype dtype);  ///< true if a column may have the type
};

/// Returns the column for rows; a null row has no value. `lengths`, required for a list, receives i64[N]. Throws
/// Refusal (internal) for a value that does not fit the column's type.
api::Array column_of(const FeatureColumn& column, std::span<const FeastValue* const> rows, api::Array* lengths);

}  // namespace frazil::server
