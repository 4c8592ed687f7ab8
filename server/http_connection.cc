#include "server/http_connection.h"

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "server/answer_stream.h"
#include "server/live_page.h"
#include "server/live_stream.h"
#include "server/rest.h"

namespace frazil::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using beast::error_code;

constexpr std::uint32_t kLongestHeader = 16 * 1024;
constexpr std::uint64_t kMostReserved = 64 * 1024;
constexpr std::string_view kJsonSize = "Inference-Header-Content-Length", kSession = "X-Session-Id",
                           kSessionCookie = "frazil_session=";

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }
beast::string_view view_of(std::string_view text) { return {text.data(), text.size()}; }

/// One connection, alive while it waits for something.
class HttpConnection : public Connection, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(tcp::socket socket, Transport& transport, Door door)
      : stream_(std::move(socket)), transport_(transport), rest_(transport.service), door_(door) {
    transport_.connections.insert(this);
    error_code ignored;
    // NOLINTNEXTLINE(bugprone-unused-return-value): a slower connection works, too
    stream_.socket().set_option(tcp::no_delay(true), ignored);
  }
  ~HttpConnection() override { transport_.connections.erase(this); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void read() {
    if (buffer_.size() == 0 && buffer_.capacity() > kLongestHeader) buffer_.shrink_to_fit();
    parser_.emplace();
    parser_->header_limit(kLongestHeader);
    parser_->body_limit(transport_.options.most_bytes);
    stream_.expires_after(transport_.patience());
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = shared_from_this()](error_code error, std::size_t) { self->read_body(error); });
  }

  /// The server ends: nothing more is read, what runs is answered.
  void end() override {
    if (caller_ == nullptr && parser_ && !parser_->got_some()) close();
  }
  /// What runs is not waited for.
  void give_up() override {
    if (caller_ != nullptr) caller_->leave();
    close();
  }

 private:
  using Request = http::request<http::string_body>;

  /// A client with a large body may wait until it is told to go on.
  void read_body(error_code error) {
    static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
    arrived_ = Clock::now();
    if (error || parser_->is_done()) return received(error);
    if (const auto length = parser_->content_length()) {  // else it is read in pieces of half a KiB
      buffer_.reserve(std::min<std::uint64_t>(*length, kMostReserved));
    }
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
      return write(error_reply(Http::too_large,
                               std::string(body ? "the body" : "the header") + " has more than " +
                                   std::to_string(body ? transport_.options.most_bytes : kLongestHeader) + " bytes"),
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
    const bool keep_alive = request_.keep_alive() && !transport_.ending;
    const std::string_view target = view_of(request_.target());
    body_ = std::make_shared<std::string>(std::move(request_.body()));
    message_ = {.method = view_of(request_.method_string()),
                .path = target.substr(0, target.find('?')),
                .query = target.substr(std::min(target.find('?'), target.size() - 1) + 1),
                .body = *body_,
                .body_owner = body_,
                .authorization = view_of(request_[http::field::authorization]),
                .trace = view_of(request_["traceparent"]),
                .session = session()};
    if (const auto size = request_.find(view_of(kJsonSize)); size != request_.end()) {
      message_.json_size = view_of(size->value());
    }
    if (door_ == Door::metrics) return write(metrics(), keep_alive);
    if (is_of_live_view(message_.path)) return live(keep_alive);
    if (const auto encoding = request_.find(http::field::content_encoding);
        encoding != request_.end() && encoding->value() != "identity") {
      return write(error_reply(Http::bad_request, "compressed requests are not supported"), keep_alive);
    }
    ask(keep_alive);
  }

  /// Of the header, or of the cookie.
  std::string_view session() const {
    if (const auto id = request_.find(view_of(kSession)); id != request_.end()) return view_of(id->value());
    std::string_view cookies = view_of(request_[http::field::cookie]);
    while (!cookies.empty()) {
      const std::size_t end = std::min(cookies.find(';'), cookies.size());
      const std::string_view cookie = cookies.substr(0, end);
      if (cookie.starts_with(kSessionCookie)) return cookie.substr(kSessionCookie.size());
      cookies.remove_prefix(std::min(cookies.find_first_not_of("; ", end), cookies.size()));
    }
    return {};
  }

  Reply metrics() const {
    if (message_.path == "/metrics" && message_.method == "GET") return transport_.service.metrics();
    return error_reply(Http::not_found, "only GET /metrics is answered here");
  }

  /// A file of the page; or its events, for which the connection is handed on.
  void live(bool keep_alive) {
    try {
      if (message_.path != kLiveEvents) return write(live_page(message_), keep_alive);
      LiveTerms terms = live_terms(message_, transport_);
      serve_live(stream_.release_socket(), transport_, std::move(terms));
    } catch (const Refusal& refusal) {
      write(error_reply(refusal.status(), refusal.what()), keep_alive);
    }
  }

  /// Has the request answered, while this thread notices when the caller goes.
  void ask(bool keep_alive) {
    caller_ = std::make_shared<Caller>();
    stream_.expires_never();
    const auto held = std::make_shared<Held<HttpConnection>>(transport_, shared_from_this());
    const auto answered = [held, keep_alive, home = std::this_thread::get_id()](Reply reply) {
      const auto& self = held->get();
      if (std::this_thread::get_id() == home) return self->write(std::move(reply), keep_alive);
      asio::post(self->transport_.context, [self, keep_alive, reply = std::make_shared<Reply>(std::move(reply))] {
        self->write(std::move(*reply), keep_alive);
      });
    };
    rest_.answer(message_, caller_, arrived_, answered);
    if (caller_ != nullptr) watch();
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

  /// A part of an answer, or its end.
  void write_part(const Reply& reply, bool keep_alive) {
    if (caller_ == nullptr) return;  // he is gone
    if (parts_ == nullptr) {
      const bool chunked = request_.version() >= 11;
      parts_ = std::make_unique<AnswerStream>(
          AnswerStream::Form{.chunked = chunked, .keep_alive = chunked && keep_alive}, caller_,
          [this](std::string_view bytes, AnswerStream::Ended ended) { write_bytes(bytes, std::move(ended)); },
          [this, goes_on = chunked && keep_alive](bool good) { end_parts(good && goes_on); });
    }
    parts_->add(reply);
  }

  void write_bytes(std::string_view bytes, AnswerStream::Ended ended) {
    stream_.expires_after(transport_.patience());
    asio::async_write(
        stream_, asio::buffer(bytes),
        [self = shared_from_this(), ended = std::move(ended)](error_code error, std::size_t) { ended(!error); });
  }

  void end_parts(bool goes_on) {
    const auto keep = std::move(parts_);
    caller_ = nullptr;
    error_code ignored;
    // NOLINTNEXTLINE(bugprone-unused-return-value): there may be nothing to cancel
    stream_.socket().cancel(ignored);
    goes_on && !transport_.ending ? read() : close();
  }

  void write(Reply reply, bool keep_alive) {
    if (reply.more || parts_ != nullptr) return write_part(reply, keep_alive);
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
    stream_.expires_after(transport_.patience());
    http::async_write(stream_, response_, [self = shared_from_this()](error_code failed, std::size_t) {
      if (failed || !self->response_.keep_alive() || self->transport_.ending) return self->close();
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
  Transport& transport_;
  const Rest rest_;
  const Door door_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  Request request_;
  Clock::time_point arrived_;  // with its header
  std::shared_ptr<std::string> body_;
  Message message_;
  std::shared_ptr<Caller> caller_;       // while a request is answered
  std::unique_ptr<AnswerStream> parts_;  // while its answer comes in parts
  http::response<http::string_body> response_;
};

}  // namespace

void serve_http(tcp::socket socket, Transport& transport, Door door) {
  make_connection<HttpConnection>(transport, std::move(socket), transport, door)->read();
}

}  // namespace frazil::server
