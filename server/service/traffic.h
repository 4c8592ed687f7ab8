#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "server/service/refusals.h"

namespace frazil::server {

/// The protocols of connections.
enum class Protocol : std::uint8_t { http, grpc, live };

inline constexpr std::array<std::string_view, 3> kProtocolNames{"http", "grpc", "live"};

/// Counts connections and responses by protocol, and reports error responses. Thread-safe.
class Traffic {
 public:
  explicit Traffic(NoticeSink notify) : refusals_(std::move(notify)) {}

  /// An open connection; counted until its destruction.
  class Connected {
   public:
    Connected(Traffic& traffic, Protocol protocol) : count_(traffic.open_[static_cast<std::size_t>(protocol)]) {
      count_.fetch_add(1, std::memory_order_relaxed);
    }
    ~Connected() { count_.fetch_sub(1, std::memory_order_relaxed); }
    Connected(const Connected&) = delete;
    Connected& operator=(const Connected&) = delete;

   private:
    std::atomic<std::uint64_t>& count_;
  };
  std::uint64_t open(Protocol protocol) const {
    return open_[static_cast<std::size_t>(protocol)].load(std::memory_order_relaxed);
  }

  /// Counts a response with a status of its protocol. `why` is the text for the client if the response is an error;
  /// otherwise empty.
  void answered(Protocol protocol, unsigned status, std::string_view why = {}) {
    counts_[static_cast<std::size_t>(protocol)][status % kStatuses].fetch_add(1, std::memory_order_relaxed);
    if (!why.empty()) refusals_.note(kProtocolNames[static_cast<std::size_t>(protocol)], status, why);
  }
  /// Calls f(protocol, status, count) for each status that has occurred.
  template <class F>
  void for_each_status(F f) const {
    for (std::size_t p = 0; p < counts_.size(); ++p) {
      for (std::size_t status = 0; status < kStatuses; ++status) {
        const std::uint64_t count = counts_[p][status].load(std::memory_order_relaxed);
        if (count > 0) f(kProtocolNames[p], status, count);
      }
    }
  }
  const Refusals& refusals() const { return refusals_; }

 private:
  static constexpr std::size_t kStatuses = 600;
  std::array<std::atomic<std::uint64_t>, kProtocolNames.size()> open_ = {};
  std::array<std::array<std::atomic<std::uint64_t>, kStatuses>, kProtocolNames.size()> counts_ = {};
  Refusals refusals_;
};

}  // namespace frazil::server
