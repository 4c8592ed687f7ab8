#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <frazil/array.h>

#include "server/feast_key.h"
#include "server/request.h"

// Features of entities, such as a user's history, from Feast's online store in Redis.
namespace frazil::server {

/// What a row of features is.
enum class FeatureStatus : std::uint8_t {
  present,
  null,       ///< at least one feature has no value; it has its default
  not_found,  ///< the store does not know the entity
  too_old,    ///< older than it may be
  failed,     ///< the store did not answer in time, or with an error
};

/// What the store has of one entity, in the order of the view's features. Immutable.
struct FeatureRecord {
  std::vector<FeastValue> values;
  bool found = false;
  double written = 0;      ///< seconds since 1970
  std::uint32_t hash = 0;  ///< of the values' bytes
  Clock::time_point read;
};

struct FeatureView {
  std::string redis;  ///< HOST:PORT
  std::string project, view;
  std::vector<std::string> features;
  std::chrono::microseconds time_out = std::chrono::milliseconds(5);  ///< of a look-up; it may take up to 1 ms more
  Clock::duration keep = Clock::duration::zero();                     ///< a record is used again for so long
  std::size_t most_kept = 10'000;                                     ///< records; those not used for longest go
};

/// Reads one view. Entities that several threads want at once are read once. After 5 look-ups in a row without an
/// answer it does not ask for a second. Thread-safe.
class FeatureStore {
 public:
  struct Found {
    std::vector<std::shared_ptr<const FeatureRecord>> rows;  ///< one per key; null: failed
    std::size_t kept = 0;                                    ///< rows that were in memory
    Clock::duration oldest{0};                               ///< since the first of those was read
    std::string why;                                         ///< the reason of the last failure
    std::string said;                                        ///< the text of Redis's error, for the log
  };

  /// Does not connect yet. Throws api::Error (bad_input) for an address that is none.
  explicit FeatureStore(const FeatureView& view);
  ~FeatureStore();
  FeatureStore(const FeatureStore&) = delete;
  FeatureStore& operator=(const FeatureStore&) = delete;

  /// Looks keys (feast_key) up, all in one round trip. Blocks until the view's time-out or `until`, whichever is first.
  /// Who waits for a look-up of another thread shares its failure. Does not throw for what the store does.
  Found look_up(std::span<const std::string> keys, std::optional<Clock::time_point> until);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A feature as a model wants it: [N], or of a list [N,L] and its lengths, where L is that of the longest row, and at
/// least 1. Of a list that has more than `list` items, the last ones are taken.
struct FeatureColumn {
  std::string name;
  api::Dtype dtype = api::Dtype::f32;   ///< bool, i32, i64, f32, f64 or string
  std::optional<std::uint64_t> list;    ///< the largest L; unset: one value
  FeastValue missing;                   ///< of a row without a value, and behind a list's end; none: 0 or ""
  static bool takes(api::Dtype dtype);  ///< whether a column may have the type
};

/// The column of rows; a null row has no value. `lengths`, which a list needs, gets i64[N]. Throws Refusal (internal)
/// for a value that the column's type does not have.
api::Array column_of(const FeatureColumn& column, std::span<const FeastValue* const> rows, api::Array* lengths);

}  // namespace frazil::server
