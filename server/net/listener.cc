#include "server/net/listener.h"

#include <cstring>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <frazil/error.h>
#include <unistd.h>

#include "server/net/listen.h"

namespace frazil::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::local::stream_protocol;
using boost::system::error_code;

[[noreturn]] void refuse_to_listen(const std::string& where, const std::string& why) {
  throw api::Error(api::Code::bad_input, where + ": " + why);
}

stream_protocol::endpoint endpoint_of(const std::string& path) {
  const std::size_t longest = sizeof(sockaddr_un::sun_path) - 1;
  if (path.size() > longest) refuse_to_listen(path, "expected a path of at most " + std::to_string(longest) + " bytes");
  return {path};
}

/// Removes the stale socket file of a dead server.
void clear(asio::io_context& context, const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode)) refuse_to_listen(path, "the file exists and is not a socket");
  stream_protocol::socket probe(context, stream_protocol());
  probe.non_blocking(true);
  error_code error;
  // NOLINTNEXTLINE(bugprone-unused-return-value): it returns `error`
  probe.connect(endpoint_of(path), error);
  if (!error || error == asio::error::would_block) refuse_to_listen(path, "another server listens there");
  if (error != asio::error::connection_refused) refuse_to_listen(path, error.message());
  ::unlink(path.c_str());
}

}  // namespace

Listener::Listener(const Transports& transports, const std::string& host, std::uint16_t port, Serve serve)
    : transports_(transports), serve_(std::move(serve)) {
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error) refuse_to_listen("--host " + host, "expected an address such as 127.0.0.1 or ::");
  error = listen_at(acceptor_, tcp::endpoint(address, port));
  if (error) refuse_to_listen(host + ":" + std::to_string(port), error.message());
}

Listener::Listener(const Transports& transports, std::string path, Serve serve)
    : transports_(transports), serve_(std::move(serve)) {
  const stream_protocol::endpoint here = endpoint_of(path);
  clear(own().context, path);
  if (const error_code error = listen_at(acceptor_, here, path.c_str())) refuse_to_listen(path, error.message());
  file_ = std::move(path);
}

std::uint16_t Listener::port() const {
  const auto here = acceptor_.local_endpoint();
  tcp::endpoint address;
  address.resize(here.size());
  std::memcpy(address.data(), here.data(), here.size());
  return address.port();
}

void Listener::accept() {
  Transport& target = *transports_[accepted_++ % transports_.size()];
  acceptor_.async_accept(target.context, [this, &target](error_code error, Socket socket) {
    if (error == asio::error::operation_aborted || own().ending) return;
    if (error) return pause();
    hand_over(std::move(socket), target);
    accept();
  });
}

void Listener::hand_over(Socket socket, Transport& target) const {
  if (&target == &own()) return serve(std::move(socket), target);
  asio::post(target.context, [this, &target, socket = std::move(socket)]() mutable {
    if (!target.ending) serve(std::move(socket), target);
  });
}

void Listener::serve(Socket socket, Transport& target) const try {
  if (target.make_place()) serve_(std::move(socket), target);
} catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): there is no memory for it, and it is closed
}

/// Pauses after an error. If no file descriptor is available, accepting again immediately would be a busy loop.
void Listener::pause() {
  constexpr auto kPause = std::chrono::milliseconds(50);
  timer_.expires_after(kPause);
  timer_.async_wait([this](error_code error) {
    if (!error) accept();
  });
}

void Listener::close() {
  if (!file_.empty()) ::unlink(std::exchange(file_, {}).c_str());  // while the file certainly belongs to this listener
  error_code ignored;
  acceptor_.close(ignored);  // NOLINT(bugprone-unused-return-value): it is given up anyway
  timer_.cancel();
}

}  // namespace frazil::server
