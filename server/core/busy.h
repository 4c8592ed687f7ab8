#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "server/core/clock.h"
#include "server/core/statistics.h"

namespace frazil::server {

/// A receiver of busy time. Thread-safe.
class BusySink {
 public:
  BusySink() = default;
  virtual ~BusySink() = default;
  BusySink(const BusySink&) = delete;
  BusySink& operator=(const BusySink&) = delete;
  virtual void add_busy(Nanoseconds time) = 0;
};

/// Adds up busy time.
class BusyTotal final : public BusySink {
 public:
  void add_busy(Nanoseconds time) override { total_.fetch_add(time.count(), std::memory_order_relaxed); }
  Nanoseconds total() const { return Nanoseconds(total_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<std::int64_t> total_ = 0;
};

/// Charges the time of this thread to a sink until its destruction, except for the time of scopes inside it. So the
/// times of all scopes add up to that of the outermost ones. The time is that of a clock on the wall: a worker that
/// waits for a core is occupied, too. Scopes of a thread are destroyed in the reverse order.
class BusyScope {
 public:
  /// With a null sink, the outer scope is charged.
  explicit BusyScope(std::shared_ptr<BusySink> sink);
  ~BusyScope();
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;

  /// Charges the time of all scopes of this thread up to now.
  static void charge_all();
  /// Charges later time of this thread's scopes of `from` to `to`.
  static void replace(const BusySink& from, const std::shared_ptr<BusySink>& to);

 private:
  void charge();

  std::shared_ptr<BusySink> sink_;
  BusyScope* outer_ = nullptr;
  Nanoseconds elapsed_{0};  ///< not charged yet
};

}  // namespace frazil::server
