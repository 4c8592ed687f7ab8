#pragma once

#include <cstdint>

// Local sockets and the pinning of threads to cores, for the programs of the serving benchmark. Functions throw
// std::runtime_error.
namespace bench {

/// Pins the calling thread.
void pin_to(int cpu);

/// Opens a TCP connection to a local port with TCP_NODELAY. The caller closes it.
int connect_to(std::uint16_t port);

/// Both ends of a TCP connection within this process.
class Loopback {
 public:
  Loopback();
  ~Loopback();
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;
  int near() const { return near_; }
  int far() const { return far_; }

 private:
  int near_ = -1, far_ = -1;
};

}  // namespace bench
