#include "server/server.h"

#include <csignal>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <frazil/error.h>

#include "server/grpc_server.h"
#include "server/http_connection.h"
#include "server/listen.h"
#include "server/transport.h"

namespace frazil::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

class Listener {
 public:
  using Serve = std::function<void(tcp::socket)>;

  Listener(Transport& transport, const std::string& host, std::uint16_t port, Serve serve)
      : transport_(transport), serve_(std::move(serve)), acceptor_(transport.context) {
    error_code error;
    const auto address = asio::ip::make_address(host, error);
    if (error)
      throw api::Error(api::Code::bad_input, "--host " + host + ": expected an address such as 127.0.0.1 or ::");
    const tcp::endpoint here(address, port);
    error = listen_at(acceptor_, here);
    if (error) {
      throw api::Error(api::Code::bad_input, host + ":" + std::to_string(port) + ": " + error.message());
    }
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted || transport_.ending) return;
      if (error) return pause();
      if (transport_.connections.size() < transport_.options.most_connections) {
        serve_(std::move(socket));
      }
      accept();
    });
  }
  void close() {
    error_code ignored;
    acceptor_.close(ignored);  // NOLINT(bugprone-unused-return-value): it is given up anyway
    timer_.cancel();
  }

 private:
  /// Without more files there is no connection, and asking at once again would keep a processor busy.
  void pause() {
    constexpr auto kPause = std::chrono::milliseconds(50);
    timer_.expires_after(kPause);
    timer_.async_wait([this](error_code error) {
      if (!error) accept();
    });
  }

  Transport& transport_;
  const Serve serve_;
  tcp::acceptor acceptor_;
  asio::steady_timer timer_{transport_.context};
};

/// Has connections look at the time, so that none has a timer, and ends them: on the first signal what is idle, on the
/// second all.
class Watch {
 public:
  Watch(Transport& transport, std::vector<Listener*> listeners)
      : transport_(transport), listeners_(std::move(listeners)), signals_(transport.context, SIGINT, SIGTERM) {}

  /// Until the first of them, the configuration is read again on SIGHUP.
  void begin() {
    wait();
    wait_for_hangup();
    tick();
  }

 private:
  void wait() {
    signals_.async_wait([this](error_code error, int) {
      if (error) return;
      transport_.ending ? give_up() : drain();
    });
  }
  void wait_for_hangup() {
    hangups_.async_wait([this](error_code error, int) {
      if (error) return;
      transport_.service.begin_reload_config();
      wait_for_hangup();
    });
  }
  void tick() {
    constexpr Clock::duration kShortest = std::chrono::milliseconds(10), kLongest = std::chrono::seconds(1);
    timer_.expires_after(transport_.ending ? kShortest : std::clamp(transport_.patience() / 4, kShortest, kLongest));
    timer_.async_wait([this](error_code error) {
      if (error) return;
      if (transport_.ending && transport_.connections.empty()) return void(signals_.cancel());
      for_each([now = Clock::now()](Connection& c) { c.check(now); });
      tick();
    });
  }
  /// A connection may be destroyed when it is told.
  template <class F>
  void for_each(F f) {
    for (auto at = transport_.connections.begin(); at != transport_.connections.end();) f(**at++);
  }
  void drain() {
    transport_.service.drain();
    transport_.ending = true;
    hangups_.cancel();
    for (Listener* const listener : listeners_) listener->close();
    for_each([](Connection& c) { c.end(); });
    if (transport_.connections.empty()) return void(timer_.cancel());
    wait();  // what is waited for lasts as long as the last connection
    tick();
  }
  void give_up() {
    for_each([](Connection& c) { c.give_up(); });
    timer_.cancel();
  }

  Transport& transport_;
  std::vector<Listener*> listeners_;
  asio::signal_set signals_;
  asio::signal_set hangups_{transport_.context, SIGHUP};
  asio::steady_timer timer_{transport_.context};
};

}  // namespace

void serve(Service& service, const ServerOptions& options, const std::function<void(const Ports&)>& listening) {
  Transport transport(service, options);
  const auto http = [&](Door door) {
    return [&transport, door](tcp::socket socket) { serve_http(std::move(socket), transport, door); };
  };
  Listener models(transport, options.host, options.http_port, http(Door::models));
  Listener grpc(transport, options.host, options.grpc_port,
                [&](tcp::socket socket) { serve_grpc(std::move(socket), transport); });
  Listener metrics(transport, options.host, options.metrics_port, http(Door::metrics));
  Watch watch(transport, {&models, &grpc, &metrics});
  watch.begin();
  for (Listener* const listener : {&models, &grpc, &metrics}) listener->accept();
  listening({.http = models.port(), .grpc = grpc.port(), .metrics = metrics.port()});
  transport.context.run();
}

}  // namespace frazil::server
