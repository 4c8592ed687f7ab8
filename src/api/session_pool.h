#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <frazil/session_pool.h>

#include "api/access.h"
#include "base/thread/mutex.h"

namespace frazil::api {

/// The sessions of a pool. Its model is a handle without a pool, so that they do not own each other. Thread-safe.
struct PoolImpl : std::enable_shared_from_this<PoolImpl> {
  using Clock = std::chrono::steady_clock;
  using Lease = SessionPool::Lease;

  PoolImpl(Model of, const PoolOptions& options);
  PoolImpl(const PoolImpl&) = delete;
  PoolImpl& operator=(const PoolImpl&) = delete;

  enum class Waiting : std::uint8_t { none, until, forever };
  /// Returns nullopt if no session is free, for Waiting::none now, for Waiting::until by `time`.
  std::optional<Lease> acquire(Waiting waiting, Clock::time_point time = {});
  std::optional<Lease> acquire_idle();
  void give_back(std::unique_ptr<Session> session, std::uint64_t held, std::uint64_t fork) noexcept;
  Results run(std::span<const Array> inputs);
  std::vector<Array> in_order(std::span<const Named> inputs) const;
  SessionPool::Counts counts();
  std::size_t drop_idle(std::chrono::nanoseconds time);

 private:
  struct Idle {
    std::unique_ptr<Session> session;
    std::uint64_t held = 0;
    Clock::time_point since;
  };
  struct Waiter {
    Condition served;
  };
  /// A session to use: an idle one, or none with permission to open one.
  struct Place {
    std::unique_ptr<Session> session;
    std::uint64_t held = 0;
  };

  // Precondition of all: `mutex_` is held.
  void forget_parent();
  bool may_open() const;
  std::optional<Place> take_place();
  std::optional<Place> wait_for_place(Condition::Lock& lock, Waiting waiting, Clock::time_point time);
  void serve_next();
  bool has_too_many_idle() const;
  std::vector<Idle> over_limit();

  Lease lease(Place place);
  std::unique_ptr<Session> opened(std::uint64_t held);

  const Model model_;
  const PoolOptions options_;
  const std::size_t most_;
  Mutex mutex_;
  std::vector<Idle> idle_;       ///< longest idle first
  std::deque<Waiter*> waiting_;  ///< longest waiting first
  std::size_t sessions_ = 0;     ///< idle, in use or being opened
  std::uint64_t held_ = 0;       ///< bytes with which all of them count
  std::uint64_t largest_ = 0;    ///< most bytes that a session held after a run
  std::uint64_t opened_ = 0;
  std::uint64_t fork_;  ///< fork_generation() of the counts above
};

}  // namespace frazil::api
