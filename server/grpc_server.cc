#include "server/grpc_server.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "server/grpc_session.h"

namespace frazil::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr auto kLinger = std::chrono::seconds(1);  // for the client to close after the last byte

/// One connection, alive while it waits for something.
class GrpcConnection final : public Connection, public std::enable_shared_from_this<GrpcConnection> {
 public:
  GrpcConnection(tcp::socket socket, Transport& transport)
      : socket_(std::move(socket)),
        transport_(transport),
        session_(transport, [this](std::int32_t id, std::uint64_t number) { return done_for(id, number); }),
        timer_(transport.context) {
    transport_.connections.insert(this);
    error_code ignored;
    // NOLINTNEXTLINE(bugprone-unused-return-value): a slower connection works, too
    socket_.set_option(tcp::no_delay(true), ignored);
  }
  ~GrpcConnection() override { transport_.connections.erase(this); }
  GrpcConnection(const GrpcConnection&) = delete;
  GrpcConnection& operator=(const GrpcConnection&) = delete;

  void start() {
    write();
    read();
    watch();
  }
  void end() override {
    session_.end();
    write();
  }
  void give_up() override { close(); }

 private:
  /// Called on any thread. The context runs on until then.
  Grpc::Done done_for(std::int32_t id, std::uint64_t number) {
    return [weak = weak_from_this(), id, number, work = asio::make_work_guard(transport_.context)](GrpcReply reply) {
      asio::post(work.get_executor(), [weak, id, number, reply = std::move(reply)]() mutable {
        const auto self = weak.lock();
        if (self == nullptr || self->state_ == State::closed) return;
        self->session_.answered(id, number, std::move(reply));
        self->write();
      });
    };
  }

  void read() {
    socket_.async_read_some(asio::buffer(buffer_.get(), kReadBytes),
                            [self = shared_from_this()](error_code error, std::size_t size) {
                              if (self->state_ == State::closed) return;
                              if (error) return self->close();
                              self->received(size);
                            });
  }

  void received(std::size_t size) {
    if (state_ == State::open) {
      last_read_ = Clock::now();
      if (!session_.receive(buffer_.get(), size)) return close();
      write();
    }
    if (state_ != State::closed) read();
  }

  void write() {
    if (writing_ || state_ != State::open) return;
    batch_.clear();
    if (!session_.empty()) last_call_ = Clock::now();
    if (!session_.fill(batch_)) return close();
    if (batch_.size() == 0) return session_.over() ? linger() : void();
    writing_ = true;
    write_begun_ = Clock::now();
    asio::async_write(socket_, batch_.buffers(), [self = shared_from_this()](error_code error, std::size_t) {
      self->writing_ = false;
      if (self->state_ == State::closed) return;
      if (error) return self->close();
      self->write();
    });
  }

  /// Everything is sent. A socket that is closed with unread bytes would take back the last ones that it sent.
  void linger() {
    state_ = State::lingering;
    error_code ignored;
    // NOLINTNEXTLINE(bugprone-unused-return-value): the connection is given up anyway
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    timer_.expires_after(std::min<Clock::duration>(kLinger, transport_.patience()));
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->close();
    });
  }

  void watch() {
    constexpr Clock::duration kShortest = std::chrono::milliseconds(10);
    timer_.expires_after(std::max(transport_.patience() / 4, kShortest));
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (error || self->state_ != State::open) return;
      self->check();
      if (self->state_ == State::open) self->watch();
    });
  }

  void check() {
    const auto now = Clock::now();
    const auto patience = transport_.patience();
    if (writing_ && now - write_begun_ > patience) return close();
    if (now - last_read_ > 2 * patience) return close();
    if (session_.empty() && now - last_call_ > patience) session_.end();
    if (!session_.empty() && now - last_read_ > patience) session_.ping();
    session_.give_up_slow(patience);
    write();
  }

  void close() {
    if (std::exchange(state_, State::closed) == State::closed) return;
    session_.leave();
    timer_.cancel();
    error_code ignored;
    // NOLINTNEXTLINE(bugprone-unused-return-value): the connection is given up anyway
    socket_.close(ignored);
  }

  enum class State : std::uint8_t { open, lingering, closed };

  tcp::socket socket_;
  Transport& transport_;
  GrpcSession session_;
  asio::steady_timer timer_;
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(kReadBytes);
  GrpcBatch batch_;  // what is being written
  bool writing_ = false;
  State state_ = State::open;
  Clock::time_point last_read_ = Clock::now(), last_call_ = last_read_, write_begun_ = last_read_;
};

}  // namespace

void serve_grpc(tcp::socket socket, Transport& transport) {
  std::make_shared<GrpcConnection>(std::move(socket), transport)->start();
}

}  // namespace frazil::server
