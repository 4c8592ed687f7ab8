#include "bench/serve_net.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bench {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

sockaddr_in address_of(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int new_socket() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) fail("no socket");
  return socket;
}

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) fail("core " + std::to_string(cpu));
}

int connect_to(std::uint16_t port) {
  const int socket = new_socket();
  const sockaddr_in server = address_of(port);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0) {
    const int error = errno;
    ::close(socket);
    errno = error;
    fail("port " + std::to_string(port));
  }
  send_at_once(socket);
  return socket;
}

Loopback::Loopback() {
  const int listener = new_socket();
  sockaddr_in here = address_of(0);
  socklen_t size = sizeof here;
  auto* const address = reinterpret_cast<sockaddr*>(&here);
  if (::bind(listener, address, size) != 0 || ::listen(listener, 1) != 0) fail("no listening socket");
  ::getsockname(listener, address, &size);
  near_ = connect_to(ntohs(here.sin_port));
  far_ = ::accept(listener, nullptr, nullptr);
  if (far_ < 0) fail("no connection");
  send_at_once(far_);
  ::close(listener);
}

Loopback::~Loopback() {
  ::close(near_);
  ::close(far_);
}

}  // namespace bench
