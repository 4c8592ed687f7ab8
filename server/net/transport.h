#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "server/core/clock.h"
#include "server/core/message.h"
#include "server/core/workers.h"
#include "server/net/requests_being_read.h"
#include "server/net/server_options.h"

namespace frazil::server {

struct Transport;

/// The time a connection waits for its client to close after the last answer.
inline constexpr std::chrono::seconds kLinger{1};

/// A connection of any transport, as seen by the server's shutdown. It occupies a place among the transport's
/// connections.
class Connection {
 public:
  /// `address`: from client_address().
  Connection(Transport& transport, const std::string& address);
  virtual ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Ends the connection: stops reading, answers running requests and closes.
  virtual void end() = 0;
  /// Closes the connection without waiting for running requests.
  virtual void abort() = 0;
  /// Closes the connection if it has kept the server waiting too long. Called at least once a second and four times per
  /// patience. No other connection may be destroyed meanwhile.
  virtual void check(Clock::time_point now) = 0;
  /// Returns the time since when the connection waits for a request; nullopt during a request and after closing.
  virtual std::optional<Clock::time_point> idle_since() const { return std::nullopt; }
  /// Returns the number of connections from its address.
  std::size_t connections_of_address() const { return at_address_->second; }

 private:
  Transport& places_;
  std::map<std::string, std::size_t>::iterator at_address_;
};

/// Counts over the transports of all threads. Thread-safe.
struct TransportTotals {
  std::atomic<std::size_t> connections = 0;
  std::atomic<std::size_t> live_clients = 0;  ///< clients of the live view
  std::atomic<std::uint64_t> buffered = 0;    ///< bytes of requests and answers in memory
};

/// The connections of a thread that reads sockets. Used only on the thread that runs the context.
struct Transport {
  Transport(const ServerOptions& options_, TransportTotals& totals_) : options(options_), totals(totals_) {}

  Clock::duration patience() const {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.patience_s));
  }

  const ServerOptions& options;
  TransportTotals& totals;
  boost::asio::io_context context{1};
  std::set<Connection*> connections;
  std::map<std::string, std::size_t> at_addresses;  ///< connections by client_address()
  bool ending = false;
  RequestsBeingRead being_read{context};
  InlineRunSlot inline_slot{[this](std::function<void()> work) { boost::asio::post(context, std::move(work)); }};

  /// Returns the slot for a request of this many bytes; null if reading it takes too long.
  InlineRunSlot* inline_slot_for(std::size_t bytes) {
    constexpr std::size_t kShort = 16 * 1024;
    return bytes <= kShort ? &inline_slot : nullptr;
  }
  /// Returns true if another connection may be accepted. If all places are taken, closes an idle connection of this
  /// thread: the one idle for longest, from the address with the most connections.
  bool make_place() {
    if (totals.connections < options.max_connections) return true;
    const auto rank = [](const Connection& c) {
      return std::pair(c.connections_of_address(), Clock::time_point::max() - *c.idle_since());
    };
    Connection* last = nullptr;
    for (Connection* const connection : connections) {
      if (!connection->idle_since()) continue;
      if (last == nullptr || rank(*connection) > rank(*last)) last = connection;
    }
    if (last != nullptr) last->abort();
    return last != nullptr;
  }
  /// Returns the refusal of requests that need more memory if the limit is exceeded, or would be by `more` bytes.
  std::optional<Refusal> over_memory_limit(std::uint64_t more = 0) const {
    const std::uint64_t buffered = totals.buffered;
    if (buffered <= options.max_buffered && more <= options.max_buffered - buffered) return std::nullopt;
    return Refusal(Http::unavailable,
                   "requests and answers in memory have more than " + std::to_string(options.max_buffered) + " bytes");
  }
};

/// A transport for each thread.
using Transports = std::vector<std::unique_ptr<Transport>>;

inline Connection::Connection(Transport& transport, const std::string& address)
    : places_(transport), at_address_(transport.at_addresses.try_emplace(address, 0).first) {
  ++at_address_->second;
  ++places_.totals.connections;
  places_.connections.insert(this);
}

inline Connection::~Connection() {
  places_.connections.erase(this);
  --places_.totals.connections;
  if (--at_address_->second == 0) places_.at_addresses.erase(at_address_);
}

/// Accounts for a connection's bytes of requests and answers in memory.
class Buffered {
 public:
  explicit Buffered(Transport& transport) : transport_(transport) {}
  ~Buffered() { set(0); }
  Buffered(const Buffered&) = delete;
  Buffered& operator=(const Buffered&) = delete;
  void set(std::uint64_t bytes) {
    transport_.totals.buffered += bytes;
    transport_.totals.buffered -= std::exchange(bytes_, bytes);
  }
  std::uint64_t get() const { return bytes_; }

 private:
  Transport& transport_;
  std::uint64_t bytes_ = 0;
};

/// Creates a connection that other threads may share. It is destroyed on the thread that runs the context.
template <class C, class... Arguments>
std::shared_ptr<C> make_connection(Transport& transport, Arguments&&... arguments) {
  return {new C(std::forward<Arguments>(arguments)...), [&transport](C* connection) {
            boost::asio::dispatch(transport.context, [connection] { delete connection; });
          }};
}

/// A connection that another thread shares. The context runs at least until it is released.
template <class C>
class Held {
 public:
  Held(Transport& transport, std::shared_ptr<C> connection)
      : guard_(transport.context.get_executor()), connection_(std::move(connection)) {}
  const std::shared_ptr<C>& operator->() const { return connection_; }
  const std::shared_ptr<C>& get() const { return connection_; }

 private:
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::shared_ptr<C> connection_;  // after the guard: released first
};

}  // namespace frazil::server
