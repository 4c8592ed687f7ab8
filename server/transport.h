#pragma once

#include <chrono>
#include <cstdint>
#include <map>
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

struct Transport;

/// How long a connection waits for its client to close after the last answer.
inline constexpr std::chrono::seconds kLinger{1};

/// A connection of some transport, as the server's end sees it. Takes a place among the transport's connections while
/// it exists.
class Connection {
 public:
  /// `address`: of client_address().
  Connection(Transport& transport, const std::string& address);
  virtual ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// The server ends: nothing more is read, what runs is answered, and then it closes.
  virtual void end() = 0;
  /// What runs is not waited for.
  virtual void give_up() = 0;
  /// Called now and then, at least four times in the options' patience and once a second: what has kept the server
  /// waiting for too long is given up. No connection but this one may be destroyed meanwhile.
  virtual void check(Clock::time_point now) = 0;
  /// Since when it has waited for its client to send a request; nullopt while there is one, and once it is closed.
  virtual std::optional<Clock::time_point> idle_since() const { return std::nullopt; }
  /// How many connections its address has.
  std::size_t beside() const { return at_address_->second; }

 private:
  Transport& places_;
  std::map<std::string, std::size_t>::iterator at_address_;
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
  std::map<std::string, std::size_t> at_addresses;  ///< connections by client_address()
  bool ending = false;
  std::size_t live_clients = 0;  ///< that are told what goes on
  std::uint64_t buffered = 0;    ///< bytes of requests and answers in memory
  Spot spot{[this](std::function<void()> work) { boost::asio::post(context, std::move(work)); }};

  /// For a request of so many bytes; null: reading it takes too long.
  Spot* spot_for(std::size_t bytes) {
    constexpr std::size_t kShort = 16 * 1024;
    return bytes <= kShort ? &spot : nullptr;
  }
  /// Whether one more connection may be taken. Where all places are taken, closes the connection that has been idle for
  /// longest, of the address that has the most.
  bool make_place() {
    if (connections.size() < options.most_connections) return true;
    const auto rank = [](const Connection& c) {
      return std::pair(c.beside(), Clock::time_point::max() - *c.idle_since());
    };
    Connection* last = nullptr;
    for (Connection* const connection : connections) {
      if (!connection->idle_since()) continue;
      if (last == nullptr || rank(*connection) > rank(*last)) last = connection;
    }
    if (last != nullptr) last->give_up();
    return last != nullptr;
  }
  /// Why one that would need more is refused, where that is too much.
  std::optional<Refusal> too_much() const {
    if (buffered <= options.most_buffered) return std::nullopt;
    return Refusal(Http::unavailable,
                   "requests and answers in memory have more than " + std::to_string(options.most_buffered) + " bytes");
  }
};

inline Connection::Connection(Transport& transport, const std::string& address)
    : places_(transport), at_address_(transport.at_addresses.try_emplace(address, 0).first) {
  ++at_address_->second;
  places_.connections.insert(this);
}

inline Connection::~Connection() {
  places_.connections.erase(this);
  if (--at_address_->second == 0) places_.at_addresses.erase(at_address_);
}

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
