#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/host_tensor.h"

namespace bench {

enum class Protocol : std::uint8_t { http, grpc };

/// A kind of requests in the serving benchmark, for the model with this name.
struct ServeKind {
  std::string_view name;
  bool in_sequence = false;  ///< each connection is a sequence with state on the server
};
/// Throws std::runtime_error for an unknown name.
const ServeKind& serve_kind(std::string_view name);

struct ServeRequestOptions {
  Protocol protocol = Protocol::http;
  std::uint64_t timeout_us = 0;  ///< the parameter `timeout`; 0: none
  std::string images;            ///< file images.npy of digits
  int length = 0;                ///< of all requests, for models with lengths; 0: random
};

/// Complete requests as bytes, created in advance: HTTP requests with headers, or framed gRPC messages.
class ServeRequests {
 public:
  ServeRequests(const ServeKind& kind, const ServeRequestOptions& options, std::size_t connections);

  /// Returns request `n` of a connection. `start`: it starts the connection's sequence.
  const std::string& bytes(std::size_t connection, std::size_t n, bool start) const {
    if (!in_sequence_) return plain_[(connection + n) % plain_.size()];
    return start ? starts_[connection] : plain_[connection];
  }

 private:
  bool in_sequence_;
  std::vector<std::string> plain_, starts_;
};

}  // namespace bench
