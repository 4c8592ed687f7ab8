#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "govern/gate/governor.h"
#include "server/config/server_config.h"
#include "server/core/notice.h"
#include "server/core/workers.h"
#include "server/request/request.h"
#include "server/state/state.h"

namespace frazil::server {

/// The key of a sequence. Equal names of two tenants are different sequences.
class StateKey {
 public:
  StateKey(std::string name) : name_(std::move(name)) {}  // NOLINT(google-explicit-constructor)
  StateKey(const char* name) : name_(name) {}             // NOLINT(google-explicit-constructor)
  /// An empty tenant means none.
  StateKey(std::string tenant, std::string name) : tenant_(std::move(tenant)), name_(std::move(name)) {}

  /// Returns a unique text for both, used as the key in folders and Redis.
  std::string text() const { return std::to_string(tenant_.size()) + ':' + tenant_ + name_; }
  /// Returns the tenant in a text() of a key; empty for another text.
  static std::string_view tenant_in(std::string_view text);

 private:
  std::string tenant_, name_;
};

/// The state of sequences between their requests. It is stored in memory; beyond the memory limit in a folder; or
/// always in Redis, which other replicas share. Requests of one sequence take turns in order of arrival. Thread-safe.
///
/// Growing states stay hot while memory suffices, and are then stored as pages. Sequences of one tenant share equal
/// pages; each page counts once.
///
/// A folder's states are available to the next process after the store is destroyed. If the process is killed, only
/// states that were written out and not used since survive.
class StateStore {
 public:
  using Values = std::vector<NamedArray>;

  /// `notify` receives notices about outages of Redis. Throws api::Error (bad_input) for an unusable folder, a Redis
  /// that denies access, and if both are configured.
  /// `governor`: asked for the connections to Redis; null: none.
  StateStore(
      StateConfig config, Workers& workers, const NoticeSink& notify = [](const Notice&) {},
      std::shared_ptr<govern::Governor> governor = nullptr);
  /// Precondition: all turns have ended.
  ~StateStore();
  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;

  /// Calls `turn` with the sequence's state after all earlier turns have ended, immediately or later on a worker. The
  /// state is null for an unknown sequence, and State::lost() if a restart of Redis lost it. `turn` must not throw.
  /// Each call of `turn` requires one end() or abandon(). If begin() throws, `turn` is not called.
  ///
  /// May block on the folder or Redis. Throws Refusal: too_many, naming the limit, for a new sequence beyond the
  /// limits; unavailable if the state cannot be read; bad_request for a key of more than 64 KiB.
  void begin(const StateKey& key, std::function<void(State::Ptr)> turn);
  /// Reads the state in a turn that changes nothing and ends before `then` is called. Otherwise as begin().
  void look(const StateKey& key, std::function<void(State::Ptr)> then);
  /// Ends a turn. `next` is the new state, which expires after `idle`; nullopt removes the sequence. Values are copied,
  /// except growing ones, whose memory is shared for the next turn. `growing` describes the latter; null: none.
  ///
  /// With Redis, the state is written before this returns, so another replica can continue. Throws Refusal
  /// (unavailable) if it cannot be written. The turn has then ended, too, with the old state.
  void end(const StateKey& key, const std::optional<Values>& next, std::chrono::microseconds idle,
           const std::shared_ptr<const Growing>& growing = nullptr);
  /// Ends a failed turn. The old state and its expiry are kept.
  void abandon(const StateKey& key);

  /// Replaces the configured limits.
  void set_limits(std::uint64_t memory_bytes, std::uint64_t max_sequences);

  struct Counts {
    std::uint64_t sequences = 0;    ///< sequences in memory or in the folder
    std::uint64_t bytes = 0;        ///< bytes of memory, including pages
    std::uint64_t written_out = 0;  ///< states written to the folder or Redis
    std::uint64_t read_back = 0;    ///< states read from there
    std::uint64_t expired = 0;
    std::uint64_t pages = 0, page_bytes = 0;  ///< of growing states, in memory
    std::uint64_t shared_pages = 0;           ///< pages of several sequences
    std::uint64_t saved_bytes = 0;            ///< bytes saved by sharing pages
    std::uint64_t page_hits = 0;              ///< lookups that found an existing page
  };
  Counts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::server
