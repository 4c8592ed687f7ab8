#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/request.h"
#include "server/server_config.h"
#include "server/workers.h"

namespace frazil::server {

/// The state of sequences between their requests: in memory, and beyond the memory's limit in a folder, or always in
/// Redis for other replicas, too. Requests of one sequence take turns in the order in which they came. Thread-safe.
///
/// What a folder has is there for the next process, once the store is destroyed; when the process is killed, only
/// states are that were written out and not used since.
class StateStore {
 public:
  using Values = std::vector<NamedArray>;

  /// Throws api::Error (bad_input) for a folder that cannot be used, for a Redis that does not answer, and for both at
  /// once.
  StateStore(StateConfig config, Workers& workers);
  /// All turns have ended.
  ~StateStore();
  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;

  /// Calls `turn` with the sequence's state, or nothing where it is not known, once the turns before have ended: at
  /// once or later on a worker. Each call of `turn` needs one end() or abandon(); it must not throw. Where begin()
  /// throws, `turn` is not called.
  ///
  /// May wait for the folder or for Redis. Throws Refusal (too_many), naming the limit, for a new sequence when there
  /// are as many as may be; Refusal (unavailable) when what keeps the state cannot be read; Refusal (bad_request) for a
  /// key of more than 64 KiB.
  void begin(const std::string& key, std::function<void(std::optional<Values>)> turn);
  /// Ends a turn. `next`: the state from now on, copied, and forgotten after `idle`; nothing: the sequence is
  /// forgotten. Where there is Redis it is written before this returns, so that another replica can go on. Throws
  /// Refusal (unavailable) when it cannot be written; the turn has ended then, too, and the old state stays.
  void end(const std::string& key, const std::optional<Values>& next, std::chrono::microseconds idle);
  /// Ends a turn that has failed: the old state stays, as long as it would have without the turn.
  void abandon(const std::string& key);

  struct Counts {
    std::uint64_t sequences = 0;    ///< known here: in memory or in the folder
    std::uint64_t bytes = 0;        ///< of memory
    std::uint64_t written_out = 0;  ///< states written to the folder or Redis
    std::uint64_t read_back = 0;    ///< states read from there
    std::uint64_t expired = 0;
  };
  Counts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::server
