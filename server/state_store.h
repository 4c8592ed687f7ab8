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

#include "server/request.h"
#include "server/server_config.h"
#include "server/state.h"
#include "server/tell.h"
#include "server/workers.h"

namespace frazil::server {

/// Names a sequence. Equal names of two tenants are two sequences.
class StateKey {
 public:
  StateKey(std::string name) : name_(std::move(name)) {}  // NOLINT(google-explicit-constructor)
  StateKey(const char* name) : name_(name) {}             // NOLINT(google-explicit-constructor)
  /// An empty tenant stands for none.
  StateKey(std::string tenant, std::string name) : tenant_(std::move(tenant)), name_(std::move(name)) {}

  /// One text of both, which no other key has: what folders and Redis know the sequence by.
  std::string text() const { return std::to_string(tenant_.size()) + ':' + tenant_ + name_; }
  /// The tenant in a text() of a key; empty for another text.
  static std::string_view tenant_in(std::string_view text);

 private:
  std::string tenant_, name_;
};

/// The state of sequences between their requests: in memory, and beyond the memory's limit in a folder, or always in
/// Redis for other replicas, too. Requests of one sequence take turns in the order in which they came. Thread-safe.
///
/// States that grow are kept as a turn leaves them while there is memory, beyond as pages, which sequences of one
/// tenant share where their bytes are equal; each page counts once.
///
/// What a folder has is there for the next process, once the store is destroyed; when the process is killed, only
/// states are that were written out and not used since.
class StateStore {
 public:
  using Values = std::vector<NamedArray>;

  /// `tell` is told of outages of Redis. Throws api::Error (bad_input) for a folder that cannot be used, for a Redis
  /// that does not let this server in, and for both at once.
  StateStore(StateConfig config, Workers& workers, const Tell& tell = [](const Notice&) {});
  /// All turns have ended.
  ~StateStore();
  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;

  /// Calls `turn` with the sequence's state, or nothing where it is not known, or State::lost() where Redis has lost it
  /// by a restart, once the turns before have ended: at once or later on a worker. Each call of `turn` needs one end()
  /// or abandon(); it must not throw. Where begin() throws, `turn` is not called.
  ///
  /// May wait for the folder or for Redis. Throws Refusal (too_many), naming the limit, for a new sequence when there
  /// are as many as may be; Refusal (unavailable) when what keeps the state cannot be read; Refusal (bad_request) for a
  /// key of more than 64 KiB.
  void begin(const StateKey& key, std::function<void(State::Ptr)> turn);
  /// A turn that changes nothing and has ended before `then` is called with the state. As begin() in all else.
  void look(const StateKey& key, std::function<void(State::Ptr)> then);
  /// Ends a turn. `next`: the state from now on, forgotten after `idle`; nothing: the sequence is forgotten. It is
  /// copied, but for values that grow, whose memory is kept, so that a session can go on in it. `growing`: which these
  /// are; null: none. Where there is Redis it is written before this returns, so that another replica can go on. Throws
  /// Refusal (unavailable) when it cannot be written; the turn has ended then, too, and the old state stays.
  void end(const StateKey& key, const std::optional<Values>& next, std::chrono::microseconds idle,
           const std::shared_ptr<const Growing>& growing = nullptr);
  /// Ends a turn that has failed: the old state stays, as long as it would have without the turn.
  void abandon(const StateKey& key);

  /// From now on these hold instead of the configuration's.
  void set_limits(std::uint64_t memory_bytes, std::uint64_t most_sequences);

  struct Counts {
    std::uint64_t sequences = 0;    ///< known here: in memory or in the folder
    std::uint64_t bytes = 0;        ///< of memory, with pages
    std::uint64_t written_out = 0;  ///< states written to the folder or Redis
    std::uint64_t read_back = 0;    ///< states read from there
    std::uint64_t expired = 0;
    std::uint64_t pages = 0, page_bytes = 0;  ///< of states that grow, in memory
    std::uint64_t shared_pages = 0;           ///< that several sequences have
    std::uint64_t saved_bytes = 0;            ///< that there would be more if they were not shared
    std::uint64_t page_hits = 0;              ///< times that a state's page was there already
  };
  Counts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::server
