#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include <frazil/model.h>
#include <frazil/session.h>

namespace frazil::api {

struct PoolImpl;

/// The bounds of a pool of sessions, and the options of its sessions.
struct PoolOptions {
  Options session = {};
  std::optional<std::size_t> max_sessions;  ///< unset: four per core, at least 64. 0: Code::bad_input
  /// Bytes that all sessions together hold between runs for intermediate values; unset: no limit. A session counts with
  /// what it held after its last run, a new one with the most that any session held. Idle sessions are closed when the
  /// limit is exceeded, longest idle first. A new one is opened only within the limit, but one is always allowed.
  std::optional<std::uint64_t> memory_limit;
  /// Sessions that may be idle. When more are released, those that have been idle longest are closed. Unset: no limit.
  std::optional<std::size_t> max_idle = {};
};

/// Sessions of one model, which are opened on demand and used again. A handle: copies share the sessions. Thread-safe.
///
/// Calls that wait are served in their order. A run whose deadline passes while it waits throws Code::limit. A call
/// that a function in a run makes, such as HostOperator::run, does not wait: it may open a session beyond the bounds,
/// because the outer run would never release its own.
class SessionPool {
 public:
  /// Throws Code::bad_input for invalid options. Opens no session.
  explicit SessionPool(const Model& model, const PoolOptions& options = {});

  /// A session that is reserved until the lease is destroyed. It then returns to the pool, also after a failed run:
  /// its observer, bound outputs, stop flag, profile, context and deadline are removed. The destructor cancels a
  /// request in flight (Session::run_async) and waits for its end. A lease may be moved to another thread.
  class Lease {
   public:
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();
    Session& operator*() const { return *session_; }
    Session* operator->() const { return session_.get(); }

   private:
    friend struct PoolImpl;
    Lease(std::shared_ptr<PoolImpl> pool, std::unique_ptr<Session> session, std::uint64_t held, std::uint64_t fork);
    void give_back() noexcept;
    std::shared_ptr<PoolImpl> pool_;
    std::unique_ptr<Session> session_;
    std::uint64_t held_ = 0;  ///< bytes with which the session counts
    std::uint64_t fork_ = 0;  ///< the process, of those that fork() made, in which the lease began
  };

  /// Return an idle session, or open one within the bounds. Throw the errors of Model::open(). acquire() waits until a
  /// session is free. acquire_until() returns nullopt if none is free by then. try_acquire() does not wait, except for
  /// planning in Model::open(), and returns nullopt if none is free or other callers wait.
  Lease acquire() const;
  std::optional<Lease> acquire_until(std::chrono::steady_clock::time_point time) const;
  std::optional<Lease> try_acquire() const;
  /// Returns an idle session, and nullopt if there is none. Opens none.
  std::optional<Lease> try_acquire_idle() const;

  /// Runs as Session::run() does, on a session of the pool. Waits until one is free. The deadline of PoolOptions counts
  /// from the call.
  Results run(std::initializer_list<Named> inputs) const;
  Results run(std::span<const Named> inputs) const;
  Results run(std::span<const Array> inputs) const;

  struct Counts {
    std::size_t sessions = 0;  ///< idle or in use
    std::size_t idle = 0;
    std::size_t waiting = 0;       ///< calls that wait for a session
    std::uint64_t held_bytes = 0;  ///< as for PoolOptions::memory_limit
    std::uint64_t opened = 0;      ///< sessions opened so far
  };
  Counts counts() const;
  /// Closes the sessions that have been idle for at least `time`. Returns their number.
  std::size_t drop_idle(std::chrono::nanoseconds time = {}) const;

 private:
  friend class Model;
  explicit SessionPool(std::shared_ptr<PoolImpl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<PoolImpl> impl_;
};

}  // namespace frazil::api
