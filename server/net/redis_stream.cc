#include "server/net/redis_stream.h"

#include <cerrno>
#include <charconv>
#include <memory>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <frazil/error.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include "server/net/redis.h"

namespace frazil::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// Makes the handshake send the host's name and check the certificate for it.
void expect_host(SSL* session, const std::string& host) {
  error_code not_a_number;
  (void)asio::ip::make_address(host, not_a_number);
  if (!not_a_number) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str());
  } else {
    SSL_set_tlsext_host_name(session, host.c_str());
    SSL_set1_host(session, host.c_str());
  }
}

std::string why_no_tls(SSL* session, const error_code& error) {
  const long verified = SSL_get_verify_result(session);
  if (verified == X509_V_OK) return error.message();
  return std::string("its certificate: ") + X509_verify_cert_error_string(verified);
}

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

RedisStream::RedisStream(const RedisAddress& address, asio::ssl::context* tls, Clock::time_point until,
                         const MayUse& may_use) {
  Socket socket = connect(address, until, may_use);
  if (tls == nullptr)
    wire_.emplace(std::move(socket));
  else
    wire_.emplace(shake_hands(std::move(socket), *tls, address.host, until));
}

error_code RedisStream::run(Clock::time_point until, const char* too_late, const std::function<void(Done)>& start) {
  ended_.reset();
  start([this](error_code error, std::size_t bytes) {
    ended_ = error;
    moved_ = bytes;
  });
  context_.restart();
  context_.run_until(until);
  if (!ended_) throw RedisFault(RedisFault::Kind::late, too_late);
  return *ended_;
}

Socket RedisStream::connect(const RedisAddress& address, Clock::time_point until, const MayUse& may_use) {
  tcp::resolver resolver(context_);
  error_code error;
  const auto found = resolver.resolve(address.host, address.port, error);
  if (error) throw RedisFault(RedisFault::Kind::refused, "the host of Redis is not found: " + error.message());
  std::optional<std::string> rejection;
  for (const auto& candidate : found) {
    peer_ = {.address = candidate.endpoint().address().to_string(), .port = candidate.endpoint().port()};
    if (auto why = rejection_by(may_use, peer_)) {
      rejection = std::move(why);
      continue;
    }
    Socket socket(context_);
    error = run(until, "Redis cannot be reached in time", [&](const Done& then) {
      socket.async_connect(candidate.endpoint(), [then](error_code done) { then(done, 0); });
    });
    if (!error) return socket;
  }
  if (rejection) throw RedisFault(RedisFault::Kind::forbidden, *rejection);
  throw RedisFault(RedisFault::Kind::refused, "Redis cannot be reached: " + error.message());
}

Wire RedisStream::shake_hands(Socket socket, asio::ssl::context& tls, const std::string& host,
                              Clock::time_point until) {
  auto stream = std::make_unique<TlsStream>(std::move(socket), tls);
  expect_host(stream->native_handle(), host);
  const error_code error = run(until, "Redis does not shake hands in time", [&](const Done& then) {
    stream->async_handshake(asio::ssl::stream_base::client, [then](error_code done) { then(done, 0); });
  });
  if (error) {
    throw RedisFault(RedisFault::Kind::wrong,
                     "TLS with Redis cannot be set up: " + why_no_tls(stream->native_handle(), error));
  }
  return {std::move(stream), {}};
}

std::size_t RedisStream::move(Clock::time_point until, const std::function<void(Done)>& start) {
  const error_code error = run(until, "Redis does not answer in time", start);
  if (!error) return moved_;
  const bool closed = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
  throw RedisFault(RedisFault::Kind::broken, closed ? "Redis has closed the connection"
                                                    : "the connection to Redis has ended: " + error.message());
}

std::size_t RedisStream::send(std::string_view bytes, Clock::time_point until) {
  return move(until,
              [&](const Done& then) { wire_->async_write_some(asio::buffer(bytes.data(), bytes.size()), then); });
}

std::size_t RedisStream::receive(char* to, std::size_t most, Clock::time_point until) {
  return move(until, [&](const Done& then) { wire_->async_read_some(asio::buffer(to, most), then); });
}

bool RedisStream::quiet() {
  char byte = 0;
  const auto got = ::recv(wire_->socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace frazil::server
