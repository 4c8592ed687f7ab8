#include "server/net/redis_stream.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <optional>
#include <utility>

#include <arpa/inet.h>
#include <frazil/error.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/core/file_descriptor.h"
#include "server/net/redis.h"

namespace frazil::server {
namespace {

std::string tls_error() {
  const unsigned long code = ::ERR_get_error();
  ::ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ::ERR_reason_error_string(code);
  return reason == nullptr ? "it is not valid" : reason;
}

/// Returns true if one of the events occurred before `until`.
bool wait_for(int fd, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd one{.fd = fd, .events = events, .revents = 0};
    const int got = ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX)));
    if (got > 0) return true;
    if (got == 0) return false;
    if (errno != EINTR)
      throw RedisFault(RedisFault::Kind::broken, "the connection to Redis failed: " + text_of_errno(errno));
  }
}

using Candidates = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Candidates resolve(const RedisAddress& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (error != 0) {
    throw RedisFault(RedisFault::Kind::refused,
                     std::string("the host of Redis is not found: ") + ::gai_strerror(error));
  }
  return {found, &::freeaddrinfo};
}

/// Connects a socket. Throws RedisFault (refused or late).
FileDescriptor connect_to(const addrinfo& where, Clock::time_point until) {
  FileDescriptor socket(::socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, where.ai_protocol));
  int error = socket.get() < 0 ? errno : 0;
  if (error == 0 && ::connect(socket.get(), where.ai_addr, where.ai_addrlen) != 0) error = errno;
  if (error == EINPROGRESS) {
    if (!wait_for(socket.get(), POLLOUT, until))
      throw RedisFault(RedisFault::Kind::late, "Redis cannot be reached in time");
    socklen_t size = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  }
  if (error != 0) throw RedisFault(RedisFault::Kind::refused, "Redis cannot be reached: " + text_of_errno(error));
  const int on = 1;
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // only an optimisation
  return socket;
}

FileDescriptor connect_to(const RedisAddress& address, Clock::time_point until) {
  const Candidates candidates = resolve(address);
  std::optional<RedisFault> last;
  for (const addrinfo* at = candidates.get(); at != nullptr; at = at->ai_next) {
    try {
      return connect_to(*at, until);
    } catch (const RedisFault& fault) {
      last = fault;
    }
  }
  throw last.value_or(RedisFault(RedisFault::Kind::refused, "the host of Redis has no address"));
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

class TcpStream : public RedisStream {
 public:
  explicit TcpStream(FileDescriptor socket) : socket_(std::move(socket)) {}

  Moved send(std::string_view bytes) override {
    return moved(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), POLLOUT);
  }
  Moved receive(char* to, std::size_t most) override {
    const ssize_t got = ::recv(socket_.get(), to, most, 0);
    if (got == 0) throw RedisFault(RedisFault::Kind::broken, "Redis has closed the connection");
    return moved(got, POLLIN);
  }
  bool quiet() override {
    char byte = 0;
    return ::recv(socket_.get(), &byte, 1, MSG_PEEK) < 0 && would_block();
  }

 protected:
  int file() const override { return socket_.get(); }

 private:
  static Moved moved(ssize_t bytes, short events) {
    if (bytes >= 0) return {.bytes = static_cast<std::size_t>(bytes)};
    if (errno != EINTR && !would_block()) {
      throw RedisFault(RedisFault::Kind::broken, "the connection to Redis has ended: " + text_of_errno(errno));
    }
    return {.events = events};
  }

  const FileDescriptor socket_;
};

// ---- TLS ----

/// A BIO over a socket, like OpenSSL's own, but without raising SIGPIPE.
const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* const made = ::BIO_meth_new(BIO_TYPE_SOURCE_SINK | ::BIO_get_new_index(), "socket of Redis");
    ::BIO_meth_set_write(made, [](BIO* bio, const char* bytes, int size) {
      const int fd = static_cast<const FileDescriptor*>(::BIO_get_data(bio))->get();
      const auto sent = static_cast<int>(::send(fd, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL));
      ::BIO_clear_retry_flags(bio);
      if (sent < 0 && (would_block() || errno == EINTR)) ::BIO_set_retry_write(bio);
      return sent;
    });
    ::BIO_meth_set_read(made, [](BIO* bio, char* to, int size) {
      const int fd = static_cast<const FileDescriptor*>(::BIO_get_data(bio))->get();
      const auto got = static_cast<int>(::recv(fd, to, static_cast<std::size_t>(size), 0));
      ::BIO_clear_retry_flags(bio);
      if (got < 0 && (would_block() || errno == EINTR)) ::BIO_set_retry_read(bio);
      return got;
    });
    ::BIO_meth_set_ctrl(made, [](BIO*, int command, long, void*) -> long { return command == BIO_CTRL_FLUSH ? 1 : 0; });
    return made;
  }();
  return method;
}

class TlsRedisStream : public RedisStream {
 public:
  /// Performs the TLS handshake.
  TlsRedisStream(FileDescriptor socket, const RedisTlsContext& tls, const std::string& host, Clock::time_point until)
      : socket_(std::move(socket)), session_(::SSL_new(tls.get()), &::SSL_free) {
    BIO* const bio = ::BIO_new(socket_method());
    if (session_ == nullptr || bio == nullptr) throw std::bad_alloc();
    ::BIO_set_data(bio, &socket_);
    ::BIO_set_init(bio, 1);
    ::SSL_set_bio(session_.get(), bio, bio);
    name_host(host);
    for (int done = 0; (done = ::SSL_connect(session_.get())) != 1;) {
      const short events = events_for(done);
      if (events == 0) throw RedisFault(RedisFault::Kind::wrong, "TLS with Redis cannot be set up: " + why());
      if (!wait(events, until)) throw RedisFault(RedisFault::Kind::late, "Redis does not shake hands in time");
    }
  }

  Moved send(std::string_view bytes) override {
    return moved(::SSL_write(session_.get(), bytes.data(), size_of(bytes.size())));
  }
  Moved receive(char* to, std::size_t most) override { return moved(::SSL_read(session_.get(), to, size_of(most))); }
  bool quiet() override {
    char byte = 0;
    const int got = ::SSL_peek(session_.get(), &byte, 1);
    return got <= 0 && events_for(got) == POLLIN;
  }

 protected:
  int file() const override { return socket_.get(); }

 private:
  static int size_of(std::size_t bytes) { return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)); }

  void name_host(const std::string& host) {
    in6_addr number{};
    const bool is_number =
        ::inet_pton(AF_INET, host.c_str(), &number) == 1 || ::inet_pton(AF_INET6, host.c_str(), &number) == 1;
    if (is_number) {
      ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(session_.get()), host.c_str());
    } else {
      ::SSL_set_tlsext_host_name(session_.get(), host.c_str());
      ::SSL_set1_host(session_.get(), host.c_str());
    }
  }

  /// Returns the events to wait for, or 0 if the session has ended.
  short events_for(int result) const {
    switch (::SSL_get_error(session_.get(), result)) {
      case SSL_ERROR_WANT_READ: return POLLIN;
      case SSL_ERROR_WANT_WRITE: return POLLOUT;
      default: return 0;
    }
  }
  Moved moved(int result) const {
    if (result > 0) return {.bytes = static_cast<std::size_t>(result)};
    const short events = events_for(result);
    if (events == 0) throw RedisFault(RedisFault::Kind::broken, "Redis has closed the connection");
    return {.events = events};
  }
  std::string why() const {
    const long verified = ::SSL_get_verify_result(session_.get());
    if (verified == X509_V_OK) return tls_error();
    ::ERR_clear_error();
    return std::string("its certificate: ") + ::X509_verify_cert_error_string(verified);
  }

  FileDescriptor socket_;
  const std::unique_ptr<SSL, decltype(&::SSL_free)> session_;
};

}  // namespace

RedisAddress redis_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  RedisAddress address;
  if (colon != std::string::npos) {
    address = {.host = text.substr(0, colon), .port = text.substr(colon + 1)};
    std::string& host = address.host;
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  }
  unsigned port = 0;
  const char* const end = address.port.data() + address.port.size();
  const auto [stop, error] = std::from_chars(address.port.data(), end, port);
  if (address.host.empty() || error != std::errc() || stop != end || port == 0 || port > 65535) {
    throw api::Error(api::Code::bad_input, "the address of Redis is '" + text + "'; expected HOST:PORT");
  }
  return address;
}

RedisTlsContext::RedisTlsContext(const RedisTls& files)
    : context_(::SSL_CTX_new(::TLS_client_method()), &::SSL_CTX_free) {
  SSL_CTX* const context = context_.get();
  if (context == nullptr) throw std::bad_alloc();
  const auto expect = [](int done, const char* key, const std::string& file) {
    if (done == 1) return;
    throw api::Error(api::Code::bad_input, std::string("state.redis_tls.") + key + " " + file + ": " + tls_error());
  };
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  ::SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (files.ca.empty()) {
    ::SSL_CTX_set_default_verify_paths(context);
  } else {
    expect(::SSL_CTX_load_verify_locations(context, files.ca.c_str(), nullptr), "ca", files.ca);
  }
  if (files.certificate.empty()) return;
  expect(::SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()), "certificate", files.certificate);
  expect(::SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM), "key", files.key);
}

std::unique_ptr<RedisStream> RedisStream::connect(const RedisAddress& address, const RedisTlsContext* tls,
                                                  Clock::time_point until) {
  FileDescriptor socket = connect_to(address, until);
  if (tls == nullptr) return std::make_unique<TcpStream>(std::move(socket));
  return std::make_unique<TlsRedisStream>(std::move(socket), *tls, address.host, until);
}

bool RedisStream::wait(short events, Clock::time_point until) const { return wait_for(file(), events, until); }

}  // namespace frazil::server
