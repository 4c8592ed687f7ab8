#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "server/core/clock.h"
#include "server/core/notice.h"

namespace frazil::server {

/// Counts error answers by protocol and status, and reports them. The first of each kind is reported immediately, then
/// at most one notice per kBetween with the number since the last notice. Thread-safe.
class Refusals {
 public:
  static constexpr std::chrono::seconds kBetween{10};

  explicit Refusals(NoticeSink notify) : notify_(std::move(notify)) {}

  /// `why` is the text for the client.
  void note(std::string_view protocol, unsigned status, std::string_view why, Clock::time_point now = Clock::now());

  using Kind = std::pair<std::string, unsigned>;  ///< protocol and status
  std::map<Kind, std::uint64_t> counts() const;

 private:
  struct Count {
    std::uint64_t all = 0, reported = 0;
    Clock::time_point last;
  };

  const NoticeSink notify_;
  mutable std::mutex mutex_;
  std::map<Kind, Count, std::less<>> counts_;
};

}  // namespace frazil::server
