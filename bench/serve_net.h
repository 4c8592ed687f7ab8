#pragma once

#include <cstdint>

// Sockets on this machine and the cores that threads run on, for the programs of the serving benchmark. Functions throw
// std::runtime_error.
namespace bench {

/// This thread alone.
void pin_to(int cpu);

/// A TCP connection to a port of this machine, without delay of small messages. The caller closes it.
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
