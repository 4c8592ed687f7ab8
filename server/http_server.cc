#include "server/http_server.h"

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <set>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <frazil/error.h>

#include "server/listen.h"

namespace frazil::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using beast::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kLongestHeader = 16 * 1024;
constexpr std::string_view kJsonSize = "Inference-Header-Content-Length";

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }
beast::string_view view_of(std::string_view text) { return {text.data(), text.size()}; }

class Connection;

/// What all connections share. Everything but the pool's tasks runs on one thread.
struct Shared {
  Shared(Service& service_, const ServerOptions& options_)
      : service(service_), options(options_), pool(options_.workers) {}

  Service& service;
  const ServerOptions& options;
  asio::io_context context{1};
  asio::thread_pool pool;
  std::set<Connection*> connections;
  std::size_t waiting = 0;  ///< requests that run or wait for a worker
  bool ending = false;
};

enum class Door : std::uint8_t { models, metrics };

/// One connection, alive while it waits for something.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Shared& shared, Door door) : stream_(std::move(socket)), shared_(shared), door_(door) {
    shared_.connections.insert(this);
    error_code ignored;
    // NOLINTNEXTLINE(bugprone-unused-return-value): a slower connection works, too
    stream_.socket().set_option(tcp::no_delay(true), ignored);
  }
  ~Connection() { shared_.connections.erase(this); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(kLongestHeader);
    parser_->body_limit(shared_.options.most_bytes);
    stream_.expires_after(patience());
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = shared_from_this()](error_code error, std::size_t) { self->read_body(error); });
  }

  /// The server ends: nothing more is read, what runs is answered.
  void end() {
    if (caller_ == nullptr && parser_ && !parser_->got_some()) close();
  }
  /// What runs is not waited for.
  void give_up() {
    if (caller_ != nullptr) caller_->leave();
    close();
  }

 private:
  using Request = http::request<http::string_body>;

  Clock::duration patience() const {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(shared_.options.patience_s));
  }

  /// A client with a large body may wait until it is told to go on.
  void read_body(error_code error) {
    static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
    if (error || parser_->is_done()) return received(error);
    const auto read = [self = shared_from_this()](error_code failed, std::size_t) {
      if (failed) return self->received(failed);
      http::async_read(self->stream_, self->buffer_, *self->parser_,
                       [self](error_code ended, std::size_t) { self->received(ended); });
    };
    if (!beast::iequals(parser_->get()[http::field::expect], "100-continue")) return read({}, 0);
    asio::async_write(stream_, asio::buffer(kGoOn), read);
  }

  void received(error_code error) {
    if (error == http::error::body_limit || error == http::error::header_limit) {
      const bool body = error == http::error::body_limit;
      return write(error_reply(Http::too_large, std::string(body ? "the body" : "the header") + " has more than " +
                                                    std::to_string(body ? shared_.options.most_bytes : kLongestHeader) +
                                                    " bytes"),
                   false);
    }
    if (error == http::error::end_of_stream || error == beast::error::timeout) return close();
    if (error.category() == http::make_error_code(http::error::bad_method).category()) {
      return write(error_reply(Http::bad_request, "the request is no valid HTTP: " + error.message()), false);
    }
    if (error) return close();
    request_ = parser_->release();
    answer();
  }

  void answer() {
    const bool keep_alive = request_.keep_alive() && !shared_.ending;
    const std::string_view target = view_of(request_.target());
    message_ = {.method = view_of(request_.method_string()),
                .path = target.substr(0, target.find('?')),
                .body = request_.body(),
                .json_size = std::nullopt};
    if (const auto size = request_.find(view_of(kJsonSize)); size != request_.end()) {
      message_.json_size = view_of(size->value());
    }
    if (door_ == Door::metrics) return write(metrics(), keep_alive);
    if (const auto encoding = request_.find(http::field::content_encoding);
        encoding != request_.end() && encoding->value() != "identity") {
      return write(error_reply(Http::bad_request, "compressed requests are not supported"), keep_alive);
    }
    caller_ = std::make_shared<Caller>();
    if (!message_.path.ends_with("/infer")) {
      Reply reply = shared_.service.answer(message_, *caller_, Clock::now());
      return write(std::move(reply), keep_alive);
    }
    if (shared_.waiting >= shared_.options.most_waiting) {
      shared_.service.refused();
      Reply reply = error_reply(Http::too_many, "too many requests wait: " + std::to_string(shared_.waiting));
      reply.headers.emplace_back("Retry-After", "1");
      return write(std::move(reply), keep_alive);
    }
    run(keep_alive);
  }

  Reply metrics() const {
    if (message_.path == "/metrics" && message_.method == "GET") return shared_.service.metrics();
    return error_reply(Http::not_found, "only GET /metrics is answered here");
  }

  /// On a worker, while this thread notices when the caller goes.
  void run(bool keep_alive) {
    ++shared_.waiting;
    stream_.expires_never();
    watch();
    asio::post(shared_.pool, [self = shared_from_this(), arrived = Clock::now(), keep_alive,
                              work = asio::make_work_guard(shared_.context)] {
      auto reply = std::make_shared<Reply>(self->shared_.service.answer(self->message_, *self->caller_, arrived));
      asio::post(self->shared_.context, [self, reply, keep_alive] {
        --self->shared_.waiting;
        self->write(std::move(*reply), keep_alive && !self->shared_.ending);
      });
    });
  }

  void watch() {
    stream_.socket().async_wait(
        tcp::socket::wait_read, [self = shared_from_this(), caller = caller_](error_code error) {
          if (error || self->caller_ != caller) return;
          char next = 0;
          error_code closed;
          // NOLINTNEXTLINE(bugprone-unused-return-value): it returns `closed`
          self->stream_.socket().non_blocking(true, closed);
          if (!closed) self->stream_.socket().receive(asio::buffer(&next, 1), tcp::socket::message_peek, closed);
          if (closed && closed != asio::error::would_block) caller->leave();
        });
  }

  void write(Reply reply, bool keep_alive) {
    caller_ = nullptr;
    error_code ignored;
    // NOLINTNEXTLINE(bugprone-unused-return-value): there may be nothing to cancel
    stream_.socket().cancel(ignored);
    response_ = {};
    response_.version(11);
    response_.result(static_cast<unsigned>(reply.status));
    response_.set(http::field::content_type, view_of(std::string_view(reply.type)));
    for (const auto& [name, value] : reply.headers) {
      response_.set(view_of(std::string_view(name)), view_of(std::string_view(value)));
    }
    response_.keep_alive(keep_alive);
    response_.body() = std::move(reply.body);
    response_.prepare_payload();
    stream_.expires_after(patience());
    http::async_write(stream_, response_, [self = shared_from_this()](error_code failed, std::size_t) {
      if (failed || !self->response_.keep_alive() || self->shared_.ending) return self->close();
      self->read();
    });
  }

  void close() {
    error_code ignored;
    // NOLINTBEGIN(bugprone-unused-return-value): the connection is given up anyway
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.socket().close(ignored);
    // NOLINTEND(bugprone-unused-return-value)
  }

  beast::tcp_stream stream_;
  Shared& shared_;
  const Door door_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  Request request_;
  Message message_;
  std::shared_ptr<Caller> caller_;  // while a request is answered
  http::response<http::string_body> response_;
};

class Listener {
 public:
  Listener(Shared& shared, Door door, const std::string& host, std::uint16_t port)
      : shared_(shared), door_(door), acceptor_(shared.context) {
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
      if (error == asio::error::operation_aborted || shared_.ending) return;
      if (!error && shared_.connections.size() < shared_.options.most_connections) {
        std::make_shared<Connection>(std::move(socket), shared_, door_)->read();
      }
      accept();
    });
  }
  void close() {
    error_code ignored;
    acceptor_.close(ignored);  // NOLINT(bugprone-unused-return-value): it is given up anyway
  }

 private:
  Shared& shared_;
  const Door door_;
  tcp::acceptor acceptor_;
};

/// On the first signal ends what is idle, on the second all.
class Ending {
 public:
  Ending(Shared& shared, Listener& models, Listener& metrics)
      : shared_(shared), models_(models), metrics_(metrics), signals_(shared.context, SIGINT, SIGTERM) {}

  void wait() {
    signals_.async_wait([this](error_code error, int) {
      if (error) return;
      shared_.ending ? give_up() : drain();
    });
  }

 private:
  template <class F>
  void for_each(F f) {
    const std::set<Connection*> now = shared_.connections;
    for (Connection* const connection : now) f(*connection);
  }
  void drain() {
    shared_.service.drain();
    shared_.ending = true;
    models_.close();
    metrics_.close();
    for_each([](Connection& c) { c.end(); });
    if (!shared_.connections.empty()) return watch();
  }
  /// Signals keep the context busy: they are let go with the last connection.
  void watch() {
    wait();
    poll();
  }
  void poll() {
    constexpr auto kEvery = std::chrono::milliseconds(10);
    timer_.expires_after(kEvery);
    timer_.async_wait([this](error_code error) {
      if (error) return;
      if (shared_.connections.empty()) return signals_.cancel();
      poll();
    });
  }
  void give_up() {
    for_each([](Connection& c) { c.give_up(); });
    timer_.cancel();
  }

  Shared& shared_;
  Listener &models_, &metrics_;
  asio::signal_set signals_;
  asio::steady_timer timer_{shared_.context};
};

}  // namespace

void serve(Service& service, const ServerOptions& options,
           const std::function<void(std::uint16_t http, std::uint16_t metrics)>& listening) {
  Shared shared(service, options);
  Listener models(shared, Door::models, options.host, options.http_port);
  Listener metrics(shared, Door::metrics, options.host, options.metrics_port);
  Ending ending(shared, models, metrics);
  ending.wait();
  models.accept();
  metrics.accept();
  listening(models.port(), metrics.port());
  shared.context.run();
  shared.pool.join();
}

}  // namespace frazil::server
