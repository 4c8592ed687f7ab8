#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/host_tensor.h"

namespace bench {

enum class Protocol : std::uint8_t { http, grpc };

/// A kind of requests of the serving benchmark, for the model of this name.
struct ServeKind {
  std::string_view name;
  bool in_sequence = false;  ///< each connection is a sequence, whose state the server keeps
};
/// Throws std::runtime_error for a name that there is not.
const ServeKind& serve_kind(std::string_view name);

struct ServeRequestOptions {
  Protocol protocol = Protocol::http;
  std::uint64_t timeout_us = 0;  ///< the parameter of that name; 0: none
  std::string images;            ///< of digits: images.npy
  int length = 0;                ///< of models with lengths: of all requests; 0: random ones
};

/// Complete requests as bytes, made beforehand: of HTTP with their head, of gRPC the framed message.
class ServeRequests {
 public:
  ServeRequests(const ServeKind& kind, const ServeRequestOptions& options, std::size_t connections);

  /// The request number `n` of a connection. `start`: it begins the connection's sequence.
  const std::string& bytes(std::size_t connection, std::size_t n, bool start) const {
    if (!in_sequence_) return plain_[(connection + n) % plain_.size()];
    return start ? starts_[connection] : plain_[connection];
  }

 private:
  bool in_sequence_;
  std::vector<std::string> plain_, starts_;
};

}  // namespace bench
