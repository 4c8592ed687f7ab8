#include "server/server.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <frazil/error.h>

#include "server/grpc/grpc_server.h"
#include "server/http/http_connection.h"
#include "server/net/event_loop.h"
#include "server/net/listener.h"
#include "server/net/service_manager.h"
#include "server/net/tls.h"
#include "server/net/transport.h"

namespace frazil::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// Triggers the periodic checks of a transport's connections, so that they need no timers. Used on the transport's
/// thread.
class Checks {
 public:
  /// `drained` is called once, after drain() and the end of the last connection.
  Checks(Transport& transport, std::function<void()> drained) : transport_(transport), drained_(std::move(drained)) {}

  void tick() {
    constexpr Clock::duration kShortest = std::chrono::milliseconds(10), kMax = std::chrono::seconds(1);
    timer_.expires_after(transport_.ending ? kShortest : std::clamp(transport_.patience() / 4, kShortest, kMax));
    timer_.async_wait([this](error_code error) {
      if (error) return;
      if (transport_.ending && transport_.connections.empty()) return report_drained();
      for_each([now = Clock::now()](Connection& c) { c.check(now); });
      tick();
    });
  }
  /// Ends idle connections, and the others once they are answered.
  void drain() {
    transport_.ending = true;
    for_each([](Connection& c) { c.end(); });
    if (!transport_.connections.empty()) return tick();
    timer_.cancel();
    report_drained();
  }
  void abort() {
    for_each([](Connection& c) { c.abort(); });
    timer_.cancel();
  }
  /// Runs a member function on the transport's thread.
  void post(void (Checks::*function)()) {
    asio::post(transport_.context, [this, function] { (this->*function)(); });
  }

 private:
  void report_drained() {
    if (!std::exchange(reported_, true)) drained_();
  }
  /// The function may destroy the connection.
  template <class F>
  void for_each(F f) {
    for (auto at = transport_.connections.begin(); at != transport_.connections.end();) f(**at++);
  }

  Transport& transport_;
  const std::function<void()> drained_;
  bool reported_ = false;
  asio::steady_timer timer_{transport_.context};
};

/// Follows signals on the thread of the first transport. Ends idle connections at the first signal, and all at the
/// second.
class Watch {
 public:
  Watch(Service& service, const Transports& transports, const std::vector<std::unique_ptr<Listener>>& listeners,
        std::optional<Tls>& tls)
      : service_(service),
        transports_(transports),
        listeners_(listeners),
        tls_(tls),
        undrained_(transports.size()),
        signals_(transports.front()->context, SIGINT, SIGTERM),
        hangups_(transports.front()->context, SIGHUP) {
    const auto drained = [this] {
      if (--undrained_ == 0) asio::post(transports_.front()->context, [this] { signals_.cancel(); });
    };
    for (const auto& transport : transports) checks_.push_back(std::make_unique<Checks>(*transport, drained));
  }

  /// Starts watching, before the transports run. Until the first signal, SIGHUP reloads the configuration and the
  /// certificates.
  void begin() {
    wait();
    wait_for_hangup();
    for (const auto& checks : checks_) checks->tick();
  }

 private:
  const ServerOptions& options() const { return transports_.front()->options; }
  std::string connections_text() const {
    return std::to_string(transports_.front()->totals.connections) + " connections ";
  }
  void wait() {
    signals_.async_wait([this](error_code error, int) {
      if (error) return;
      draining_ ? abort() : drain();
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
    AccessLog* const access = options().access;
    ExposureLog* const exposures = service_.options().exposures.get();
    if (access != nullptr && !access->reopen()) warn_of_old_file("access log");
    if (exposures != nullptr && !exposures->reopen()) warn_of_old_file("exposure log");
    if (!tls_) return;
    try {
      tls_->reload();
      inform(options().notify, "certificates", "were read again");
    } catch (const api::Error& error) {
      warn(options().notify, "certificates", std::string(error.what()) + "; those from before are used on");
    }
  }
  void warn_of_old_file(const char* log) const {
    warn(options().notify, log, "the file cannot be opened again; the old one is used on");
  }
  void drain() {
    inform(options().notify, "server", "a signal ends it: " + connections_text() + "end once they are answered");
    service_.drain();
    notify_service_manager("STOPPING=1", options().notify);
    draining_ = true;
    hangups_.cancel();
    for (const auto& listener : listeners_) listener->close();
    wait();  // keep waiting for a signal until the last connection ends
    checks_.front()->drain();
    for (std::size_t i = 1; i < checks_.size(); ++i) checks_[i]->post(&Checks::drain);
  }
  void abort() {
    warn(options().notify, "server", "a second signal ends it: " + connections_text() + "are given up");
    for (const auto& checks : checks_) checks->post(&Checks::abort);
  }

  Service& service_;
  const Transports& transports_;
  const std::vector<std::unique_ptr<Listener>>& listeners_;
  std::optional<Tls>& tls_;
  std::vector<std::unique_ptr<Checks>> checks_;
  std::atomic<std::size_t> undrained_;
  bool draining_ = false;
  asio::signal_set signals_, hangups_;
};

Transports transports_of(const ServerOptions& options, TransportTotals& totals) {
  Transports transports;
  for (unsigned i = 0; i < options.io_threads; ++i) transports.push_back(std::make_unique<Transport>(options, totals));
  return transports;
}

/// Runs the contexts, the first on this thread, until all have ended. An exception ends all and is thrown again.
void run(const Transports& transports, Service& service) {
  const Clock::duration busy_poll = transports.front()->options.busy_poll;
  const auto no_request_runs = [&] { return service.admission().waiting() == 0; };
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run_one = [&](Transport& transport) {
    try {
      run_events(transport.context, busy_poll, no_request_runs);
    } catch (...) {
      const std::scoped_lock lock(mutex);
      failure = std::current_exception();
      for (const auto& other : transports) other->context.stop();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < transports.size(); ++i) threads.emplace_back(run_one, std::ref(*transports[i]));
    run_one(*transports.front());
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

void serve(Service& service, const ServerOptions& options, const std::function<void(const Ports&)>& listening) {
  TransportTotals totals;
  const Transports transports = transports_of(options, totals);
  std::optional<Tls> tls;
  if (!options.tls.certificate.empty()) tls.emplace(options.tls);
  const auto http = [&](PortKind port_kind) {
    return [&service, port_kind](Wire wire, Transport& transport) {
      serve_http(std::move(wire), transport, service, port_kind);
    };
  };
  const auto grpc = [&](Wire wire, Transport& transport) { serve_grpc(std::move(wire), transport, service); };
  const auto plain = [](auto serve) {
    return [serve](Socket socket, Transport& transport) { serve(Wire(std::move(socket)), transport); };
  };
  const auto secure = [&](Tls::Protocol protocol, auto serve) -> Listener::Serve {
    if (!tls) return plain(serve);
    return [&tls, protocol, serve](Socket socket, Transport& transport) {
      tls->accept(std::move(socket), transport, protocol,
                  [serve, &transport](Wire wire) { serve(std::move(wire), transport); });
    };
  };
  std::vector<std::unique_ptr<Listener>> listeners;
  const auto listen = [&](const auto&... where) {
    listeners.push_back(std::make_unique<Listener>(transports, where...));
  };
  listen(options.host, options.http_port, secure(Tls::Protocol::http, http(PortKind::models)));
  listen(options.host, options.grpc_port, secure(Tls::Protocol::grpc, grpc));
  listen(options.host, options.metrics_port, secure(Tls::Protocol::probes, http(PortKind::metrics)));
  if (!options.http_socket.empty()) listen(options.http_socket, plain(http(PortKind::models)));
  if (!options.grpc_socket.empty()) listen(options.grpc_socket, plain(grpc));
  Watch watch(service, transports, listeners, tls);
  watch.begin();
  for (const auto& listener : listeners) listener->accept();
  listening({.http = listeners[0]->port(), .grpc = listeners[1]->port(), .metrics = listeners[2]->port()});
  notify_service_manager("READY=1", options.notify);
  run(transports, service);
  inform(options.notify, "server", "has ended");
}

}  // namespace frazil::server
