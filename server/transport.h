#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "server/server.h"

namespace frazil::server {

/// A connection of some transport, as the server's end sees it.
class Connection {
 public:
  virtual ~Connection() = default;
  /// The server ends: nothing more is read, what runs is answered, and then it closes.
  virtual void end() = 0;
  /// What runs is not waited for.
  virtual void give_up() = 0;
  /// Called now and then, at least four times in the options' patience and once a second: what has kept the server
  /// waiting for too long is given up. No connection but this one may be destroyed meanwhile.
  virtual void check(Clock::time_point now) = 0;
};

/// What all transports share. Used on the thread that runs the context alone.
struct Transport {
  Transport(Service& service_, const ServerOptions& options_) : service(service_), options(options_) {}

  Clock::duration patience() const {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.patience_s));
  }

  Service& service;
  const ServerOptions& options;
  boost::asio::io_context context{1};
  std::set<Connection*> connections;
  bool ending = false;
  std::size_t live_clients = 0;  ///< that are told what goes on
  std::uint64_t buffered = 0;    ///< bytes of requests and answers in memory
  Spot spot{[this](std::function<void()> work) { boost::asio::post(context, std::move(work)); }};

  /// For a request of so many bytes; null: reading it takes too long.
  Spot* spot_for(std::size_t bytes) {
    constexpr std::size_t kShort = 16 * 1024;
    return bytes <= kShort ? &spot : nullptr;
  }
  /// Why one that would need more is refused, where that is too much.
  std::optional<Refusal> too_much() const {
    if (buffered <= options.most_buffered) return std::nullopt;
    return Refusal(Http::unavailable,
                   "requests and answers in memory have more than " + std::to_string(options.most_buffered) + " bytes");
  }
};

/// The bytes of requests and answers that a connection has in memory.
class Buffered {
 public:
  explicit Buffered(Transport& transport) : transport_(transport) {}
  ~Buffered() { set(0); }
  Buffered(const Buffered&) = delete;
  Buffered& operator=(const Buffered&) = delete;
  void set(std::uint64_t bytes) {
    transport_.buffered += bytes;
    transport_.buffered -= std::exchange(bytes_, bytes);
  }
  std::uint64_t get() const { return bytes_; }

 private:
  Transport& transport_;
  std::uint64_t bytes_ = 0;
};

/// A connection that other threads may hold, too: it is destroyed on the thread that runs the context.
template <class C, class... Arguments>
std::shared_ptr<C> make_connection(Transport& transport, Arguments&&... arguments) {
  return {new C(std::forward<Arguments>(arguments)...), [&transport](C* connection) {
            boost::asio::dispatch(transport.context, [connection] { delete connection; });
          }};
}

/// A connection that another thread holds, so that the context runs at least until it has let go of it.
template <class C>
class Held {
 public:
  Held(Transport& transport, std::shared_ptr<C> connection)
      : guard_(transport.context.get_executor()), connection_(std::move(connection)) {}
  const std::shared_ptr<C>& operator->() const { return connection_; }
  const std::shared_ptr<C>& get() const { return connection_; }

 private:
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::shared_ptr<C> connection_;  // behind the guard: let go of first
};

}  // namespace frazil::server
