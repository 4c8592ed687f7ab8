#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace frazil::server {

using Nanoseconds = std::chrono::nanoseconds;

/// The count and the total duration of an event. Thread-safe.
class Timed {
 public:
  void add(Nanoseconds time) {
    count_.fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(static_cast<std::uint64_t>(time.count()), std::memory_order_relaxed);
  }
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  std::uint64_t nanoseconds() const { return nanoseconds_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_ = 0, nanoseconds_ = 0;
};

/// A log-linear histogram for quantiles, with a relative bucket width of at most one sixteenth. Thread-safe.
class FineHistogram {
 public:
  static constexpr std::size_t kBuckets = std::size_t{26} * 16;  ///< the last one has all times above two minutes
  using Counts = std::array<std::uint64_t, kBuckets>;

  void add(Nanoseconds time) { buckets_[bucket_of(time)].fetch_add(1, std::memory_order_relaxed); }
  Counts counts() const {
    Counts counts;
    for (std::size_t i = 0; i < kBuckets; ++i) counts[i] = buckets_[i].load(std::memory_order_relaxed);
    return counts;
  }
  /// Returns the smallest time in a bucket.
  static Nanoseconds least(std::size_t bucket) {
    const std::uint64_t power = bucket / 16, part = bucket % 16;
    return Nanoseconds((power == 0 ? part : (16 + part) << (power - 1)) << kUnitBits);
  }

  /// Returns the bucket of a quantile; nullopt without times.
  static std::optional<std::size_t> bucket_at(const Counts& times, double share) {
    std::uint64_t all = 0, sum = 0;
    for (const std::uint64_t count : times) all += count;
    for (std::size_t i = 0; i < times.size() && all > 0; ++i) {
      sum += times[i];
      if (static_cast<double>(sum) >= share * static_cast<double>(all)) return i;
    }
    return std::nullopt;
  }
  static std::size_t bucket_of(Nanoseconds time) {
    const auto units = static_cast<std::uint64_t>(time.count()) >> kUnitBits;
    if (units < 16) return units;
    const auto power = static_cast<std::size_t>(std::bit_width(units)) - 4;
    return std::min(power * 16 + ((units >> (power - 1)) & 15U), kBuckets - 1);
  }

 private:
  static constexpr unsigned kUnitBits = 8;  // the resolution is 256 ns

  std::array<std::atomic<std::uint64_t>, kBuckets> buckets_ = {};
};

/// A histogram with the buckets of Prometheus. Thread-safe.
class Histogram {
 public:
  static constexpr std::array<double, 14> kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                     0.025,  0.05,    0.1,    0.25,  0.5,    1,     5};  ///< seconds
  void add(Nanoseconds time) {
    const double seconds = std::chrono::duration<double>(time).count();
    std::size_t i = 0;
    while (i < kBounds.size() && seconds > kBounds[i]) ++i;
    buckets_[i].fetch_add(1, std::memory_order_relaxed);
    fine_.add(time);
  }
  const FineHistogram& fine() const { return fine_; }
  /// Returns the number of times up to kBounds[i], or of all times for kBounds.size().
  std::uint64_t up_to(std::size_t i) const {
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k <= i; ++k) sum += buckets_[k].load(std::memory_order_relaxed);
    return sum;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> buckets_ = {};
  FineHistogram fine_;
};

/// An exponential moving average; a new time has the weight 1 / `part`. Thread-safe, but one of two concurrent updates
/// may be lost.
class Mean {
 public:
  explicit Mean(std::int64_t part = 8) : part_(part) {}
  void add(Nanoseconds time) {
    const std::int64_t old = mean_.load(std::memory_order_relaxed);
    mean_.store(old == 0 ? time.count() : old + (time.count() - old) / part_, std::memory_order_relaxed);
  }
  Nanoseconds value() const { return Nanoseconds(mean_.load(std::memory_order_relaxed)); }

 private:
  const std::int64_t part_;
  std::atomic<std::int64_t> mean_ = 0;
};

/// Runs by the number of their requests. Thread-safe.
class Batches {
 public:
  struct Runs {
    std::uint64_t count = 0;
    Nanoseconds input{0}, infer{0}, output{0};
  };
  void add(std::uint64_t size, Nanoseconds input, Nanoseconds infer, Nanoseconds output) {
    const std::scoped_lock lock(mutex_);
    Runs& runs = by_size_[size];
    ++runs.count;
    runs.input += input;
    runs.infer += infer;
    runs.output += output;
  }
  std::map<std::uint64_t, Runs> by_size() const {
    const std::scoped_lock lock(mutex_);
    return by_size_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Runs> by_size_;
};

/// The statistics of one version of a model.
struct Statistics {
  Timed success, fail;                                        ///< from arrival to answer
  Timed queue, compute_input, compute_infer, compute_output;  ///< of successful requests
  Timed runs;                                                 ///< of the model; a run may serve many requests
  Histogram duration;                                         ///< of all requests
  Timed first_part;                                           ///< from arrival to the first part
  Histogram first_part_time;                                  ///< the same as a histogram
  Mean run_time;
  Mean cost;  ///< worker time per request
  Batches batches;
  std::atomic<std::uint64_t> pending = 0;                  ///< requests waiting for a run or running
  std::atomic<std::uint64_t> rejected = 0, cancelled = 0;  ///< among failed requests
  std::atomic<std::uint64_t> padded = 0, elements = 0;     ///< elements of batched inputs: padding, and all
  std::atomic<std::uint64_t> parts = 0;                    ///< partial answers before the last one
  std::atomic<std::uint64_t> outside = 0;                  ///< requests whose path their report does not allow
  std::atomic<std::int64_t> last_inference_ms = 0;         ///< since 1970
};

}  // namespace frazil::server
