#include "server/server.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <frazil/error.h>

#include "server/grpc/grpc_server.h"
#include "server/http/http_connection.h"
#include "server/net/listener.h"
#include "server/net/service_manager.h"
#include "server/net/tls.h"
#include "server/net/transport.h"

namespace frazil::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// Triggers the periodic checks of connections, so that they need no timers. Ends idle connections at the first signal,
/// and all at the second.
class Watch {
 public:
  Watch(Service& service, Transport& transport, const std::vector<std::unique_ptr<Listener>>& listeners,
        std::optional<Tls>& tls)
      : service_(service),
        transport_(transport),
        listeners_(listeners),
        tls_(tls),
        signals_(transport.context, SIGINT, SIGTERM) {}

  /// Starts watching. Until the first signal, SIGHUP reloads the configuration and the certificates.
  void begin() {
    wait();
    wait_for_hangup();
    tick();
  }

 private:
  void wait() {
    signals_.async_wait([this](error_code error, int) {
      if (error) return;
      transport_.ending ? abort() : drain();
    });
  }
  void wait_for_hangup() {
    hangups_.async_wait([this](error_code error, int) {
      if (error) return;
      reload();
      wait_for_hangup();
    });
  }
  void reload() {
    service_.begin_reload_config();
    AccessLog* const access = transport_.options.access;
    ExposureLog* const exposures = service_.options().exposures.get();
    if (access != nullptr && !access->reopen()) warn_of_old_file("access log");
    if (exposures != nullptr && !exposures->reopen()) warn_of_old_file("exposure log");
    if (!tls_) return;
    try {
      tls_->reload();
      inform(transport_.options.notify, "certificates", "were read again");
    } catch (const api::Error& error) {
      warn(transport_.options.notify, "certificates", std::string(error.what()) + "; those from before are used on");
    }
  }
  void warn_of_old_file(const char* log) const {
    warn(transport_.options.notify, log, "the file cannot be opened again; the old one is used on");
  }
  void tick() {
    constexpr Clock::duration kShortest = std::chrono::milliseconds(10), kMax = std::chrono::seconds(1);
    timer_.expires_after(transport_.ending ? kShortest : std::clamp(transport_.patience() / 4, kShortest, kMax));
    timer_.async_wait([this](error_code error) {
      if (error) return;
      if (transport_.ending && transport_.connections.empty()) return void(signals_.cancel());
      for_each([now = Clock::now()](Connection& c) { c.check(now); });
      tick();
    });
  }
  /// The function may destroy the connection.
  template <class F>
  void for_each(F f) {
    for (auto at = transport_.connections.begin(); at != transport_.connections.end();) f(**at++);
  }
  void drain() {
    inform(transport_.options.notify, "server",
           "a signal ends it: " + std::to_string(transport_.connections.size()) +
               " connections end once they are answered");
    service_.drain();
    notify_service_manager("STOPPING=1", transport_.options.notify);
    transport_.ending = true;
    hangups_.cancel();
    for (const auto& listener : listeners_) listener->close();
    for_each([](Connection& c) { c.end(); });
    if (transport_.connections.empty()) return void(timer_.cancel());
    wait();  // keep waiting for a signal until the last connection ends
    tick();
  }
  void abort() {
    warn(transport_.options.notify, "server",
         "a second signal ends it: " + std::to_string(transport_.connections.size()) + " connections are given up");
    for_each([](Connection& c) { c.abort(); });
    timer_.cancel();
  }

  Service& service_;
  Transport& transport_;
  const std::vector<std::unique_ptr<Listener>>& listeners_;
  std::optional<Tls>& tls_;
  asio::signal_set signals_;
  asio::signal_set hangups_{transport_.context, SIGHUP};
  asio::steady_timer timer_{transport_.context};
};

}  // namespace

void serve(Service& service, const ServerOptions& options, const std::function<void(const Ports&)>& listening) {
  Transport transport(options);
  std::optional<Tls> tls;
  if (!options.tls.certificate.empty()) tls.emplace(options.tls);
  const auto http = [&](PortKind port_kind) {
    return [&transport, &service, port_kind](Wire wire) { serve_http(std::move(wire), transport, service, port_kind); };
  };
  const auto grpc = [&](Wire wire) { serve_grpc(std::move(wire), transport, service); };
  const auto plain = [](auto serve) { return [serve](Socket socket) { serve(Wire(std::move(socket))); }; };
  const auto secure = [&](Tls::Protocol protocol, auto serve) -> Listener::Serve {
    if (!tls) return plain(serve);
    return [&transport, &tls, protocol, serve](Socket socket) {
      tls->accept(std::move(socket), transport, protocol, serve);
    };
  };
  std::vector<std::unique_ptr<Listener>> listeners;
  const auto listen = [&](const auto&... where) {
    listeners.push_back(std::make_unique<Listener>(transport, where...));
  };
  listen(options.host, options.http_port, secure(Tls::Protocol::http, http(PortKind::models)));
  listen(options.host, options.grpc_port, secure(Tls::Protocol::grpc, grpc));
  listen(options.host, options.metrics_port, secure(Tls::Protocol::probes, http(PortKind::metrics)));
  if (!options.http_socket.empty()) listen(options.http_socket, plain(http(PortKind::models)));
  if (!options.grpc_socket.empty()) listen(options.grpc_socket, plain(grpc));
  Watch watch(service, transport, listeners, tls);
  watch.begin();
  for (const auto& listener : listeners) listener->accept();
  listening({.http = listeners[0]->port(), .grpc = listeners[1]->port(), .metrics = listeners[2]->port()});
  notify_service_manager("READY=1", options.notify);
  transport.context.run();
  inform(options.notify, "server", "has ended");
}

}  // namespace frazil::server
