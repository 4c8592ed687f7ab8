#include "server/grpc/grpc_server.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "server/grpc/grpc_session.h"

namespace frazil::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 64 * 1024;

void compress_message(GrpcReply& reply, Coding coding) {
  auto shorter = deflated(reply.bytes, coding);
  if (!shorter) return;
  reply.bytes = std::move(*shorter);
  reply.compressed = true;
}

/// One connection. Pending operations keep it alive.
class GrpcConnection final : public Connection, public std::enable_shared_from_this<GrpcConnection> {
 public:
  GrpcConnection(Wire wire, Transport& transport, Service& service)
      : Connection(transport, client_address(wire.socket())),
        wire_(std::move(wire)),
        transport_(transport),
        connected_(service.traffic(), Protocol::grpc),
        session_(transport, service,
                 {.names = wire_.client(), .address = [this] { return peer_address(wire_.socket()); }},
                 [this](const GrpcSession::MessageId& to) { return done_for(to); }) {}

  void start() {
    write();
    read();
  }
  void end() override {
    session_.end();
    write();
  }
  void abort() override { close(); }
  std::optional<Clock::time_point> idle_since() const override {
    return state_ != State::closed && session_.empty() ? std::optional(last_call_) : std::nullopt;
  }
  void check(Clock::time_point now) override {
    const auto patience = transport_.patience();
    if (state_ == State::lingering && now - last_call_ > std::min<Clock::duration>(kLinger, patience)) return close();
    if (state_ != State::open) return;
    if (writing_ && now - write_begun_ > patience) return close();
    if (!session_.empty()) {
      if (now - last_read_ > 2 * patience) return close();
      if (now - last_read_ > patience) session_.ping();
    } else if (now - last_call_ > patience) {
      session_.end();
    }
    session_.check(patience);
    write();
  }

 private:
  /// Returns a callback that may be called on any thread. It keeps the context running until then.
  Grpc::Done done_for(const GrpcSession::MessageId& to) {
    return [weak = weak_from_this(), to, from = transport_.options.compress_from,
            work = asio::make_work_guard(transport_.context)](GrpcReply reply) {
      if (to.coding != Coding::none && !reply.more && reply.bytes.size() >= from) compress_message(reply, to.coding);
      asio::post(work.get_executor(), [weak, to, reply = std::move(reply)]() mutable {
        const auto self = weak.lock();
        if (self == nullptr || self->state_ == State::closed) return;
        self->session_.answered(to, std::move(reply));
        self->write();
      });
    };
  }

  void read() {
    wire_.async_read_some(asio::buffer(buffer_.get(), kReadBytes),
                          [self = shared_from_this()](error_code error, std::size_t size) {
                            if (self->state_ == State::closed) return;
                            if (error) return self->close();
                            self->received(size);
                          });
  }

  void received(std::size_t size) {
    last_read_ = Clock::now();
    received_ = {buffer_.get(), size};
    take();
  }

  /// Processes received bytes. Yields to other connections before it processes the rest.
  void take() {
    if (state_ == State::open) {
      const auto taken = session_.receive(received_);
      if (!taken) return close();
      received_.remove_prefix(*taken);
      write();
    }
    if (state_ == State::closed) return;
    if (state_ != State::open || received_.empty()) return read();
    asio::post(transport_.context, [self = shared_from_this()] { self->take(); });
  }

  void write() {
    if (writing_ || state_ != State::open) return;
    batch_.clear();
    if (!session_.empty()) last_call_ = Clock::now();
    if (!session_.fill(batch_)) return close();
    if (batch_.size() == 0) return session_.over() ? linger() : void();
    writing_ = true;
    write_begun_ = Clock::now();
    asio::async_write(wire_, batch_.buffers(), [self = shared_from_this()](error_code error, std::size_t) {
      self->writing_ = false;
      if (self->state_ == State::closed) return;
      if (error) return self->close();
      self->write();
    });
  }

  /// Lingers after everything is sent: closing a socket with unread bytes may discard the last bytes sent.
  void linger() {
    state_ = State::lingering;
    wire_.finish(shared_from_this());
    last_call_ = Clock::now();
  }

  void close() {
    if (std::exchange(state_, State::closed) == State::closed) return;
    session_.leave();
    wire_.close();
  }

  enum class State : std::uint8_t { open, lingering, closed };

  Wire wire_;
  Transport& transport_;
  const Traffic::Connected connected_;
  GrpcSession session_;
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(kReadBytes);
  std::string_view received_;  // part of buffer_ that is not processed yet
  GrpcBatch batch_;            // the current write
  bool writing_ = false;
  State state_ = State::open;
  // Times of the last read, of the last moment with an active call, and of the current write.
  Clock::time_point last_read_ = Clock::now(), last_call_ = last_read_, write_begun_ = last_read_;
};

}  // namespace

void serve_grpc(Wire wire, Transport& transport, Service& service) {
  std::make_shared<GrpcConnection>(std::move(wire), transport, service)->start();
}

}  // namespace frazil::server
