#include "server/http_connection.h"

#include <array>
#include <memory>
#include <optional>
#include <thread>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "server/http_head.h"
#include "server/live_page.h"
#include "server/live_stream.h"
#include "server/rest.h"
#include "server/yaml.h"

namespace frazil::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using beast::error_code;

constexpr std::uint32_t kLongestHeader = 16 * 1024;
constexpr std::size_t kShortRead = 4 * 1024, kLongRead = 64 * 1024;
constexpr std::uint64_t kDropped = 256 * 1024;     // of a refused body, sooner than that its connection is closed
constexpr auto kLinger = std::chrono::seconds(1);  // for a client that neither sends nor closes after the last answer

/// One connection, alive while it waits for something.
class HttpConnection : public Connection, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(Wire wire, Transport& transport, Door door)
      : wire_(std::move(wire)), transport_(transport), rest_(transport.service), door_(door) {
    transport_.connections.insert(this);
  }
  ~HttpConnection() override { transport_.connections.erase(this); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// With the next request.
  void begin() {
    parser_.emplace();
    parser_->header_limit(kLongestHeader);
    parser_->body_limit(transport_.options.most_bytes);
    parser_->eager(true);
    turn_to(State::waiting);
    if (buffer_.size() == 0) return read();
    state_ = State::reading;
    parse(since_);
  }

  void end() override {
    if (state_ == State::waiting) close();
  }
  void give_up() override {
    close();
    if (caller_ != nullptr) caller_gone();
  }
  void check(Clock::time_point now) override {
    if (state_ == State::answering || state_ == State::closed) return;
    const auto patience = transport_.patience();
    if (now - since_ > (state_ == State::lingering ? std::min<Clock::duration>(kLinger, patience) : patience)) close();
  }

 private:
  enum class State : std::uint8_t {
    waiting,    ///< for the first byte of a request
    reading,    ///< a request
    answering,  ///< which may take as long as it wants
    writing,    ///< the answer
    dropping,   ///< the rest of a body that was refused
    lingering,  ///< until the client closes: a socket closed with unread bytes would take back the last answer, and
                ///< TLS has a last word
    closed
  };

  void turn_to(State state) {
    state_ = state;
    since_ = Clock::now();
  }

  // ---- reading ----

  /// At most one read is under way. One that begins behind a request, with nothing in the buffer, may outlast it, and
  /// tells meanwhile when the caller goes.
  void read() {
    if (std::exchange(reading_, true)) return;
    wire_.async_read_some(buffer_.prepare(most_read()),
                          [self = shared_from_this()](error_code error, std::size_t size) {
                            self->reading_ = false;
                            self->received(error, size);
                          });
  }
  std::size_t most_read() const {
    if (state_ == State::dropping || state_ == State::lingering) return kLongRead;
    if (state_ != State::reading || !parser_->is_header_done()) return kShortRead;
    const auto left = parser_->content_length_remaining();
    return left ? std::clamp<std::uint64_t>(*left, kShortRead, kLongRead) : kLongRead;
  }

  void received(error_code error, std::size_t size) {
    buffer_.commit(size);
    const auto now = Clock::now();
    switch (state_) {
      case State::waiting:
        since_ = now;
        state_ = State::reading;
        [[fallthrough]];
      case State::reading: return error ? close() : parse(now);
      case State::answering: return error ? caller_gone() : void();
      case State::dropping: return error ? close() : drop();
      case State::lingering: return error ? close() : linger_on(now);
      case State::writing:  // an end of the connection is read again
      case State::closed: return;
    }
  }

  void parse(Clock::time_point now) {
    const bool knew_head = parser_->is_header_done();
    error_code error;
    buffer_.consume(parser_->put(buffer_.data(), error));
    if (error && error != http::error::need_more) return refuse(error_reply_of(error), false);
    if (!parser_->is_header_done()) return read();
    if (!knew_head) {
      arrived_ = now;
      message_ = message_of(parser_->get());
    }
    if (parser_->is_done()) return answer();
    message_.body = parser_->get().body();
    if (!knew_head) return admit();
    read_on();
  }

  /// The body is still to come: it is not waited for where its request would be refused anyway.
  void admit() {
    const bool waits = message_.body.empty() && waits_to_go_on(parser_->get());
    json_size_ = whole_from(message_.json_size.value_or("0")).value_or(0);
    if (message_.body.size() >= json_size_) json_size_ = 0;
    if (auto refusal = early_refusal()) return refuse(std::move(*refusal), !waits);
    if (!waits) return read();
    static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(wire_, asio::buffer(kGoOn), [self = shared_from_this()](error_code error, std::size_t) {
      if (self->state_ == State::closed) return;
      error ? self->close() : self->read();
    });
  }
  /// More is known once the JSON in front of binary tensors has come.
  void read_on() {
    if (json_size_ == 0 || message_.body.size() < json_size_) return read();
    json_size_ = 0;
    if (auto refusal = early_refusal()) return refuse(std::move(*refusal), true);
    read();
  }
  std::optional<Reply> early_refusal() const {
    if (door_ == Door::metrics || is_of_live_view(message_.path)) return std::nullopt;
    return rest_.refusal(message_, arrived_);
  }

  Reply error_reply_of(error_code error) const {
    const bool body = error == http::error::body_limit;
    if (!body && error != http::error::header_limit) {
      return error_reply(Http::bad_request, "the request is no valid HTTP: " + error.message());
    }
    const std::uint64_t most = body ? transport_.options.most_bytes : kLongestHeader;
    return error_reply(Http::too_large, std::string(body ? "the body" : "the header") + " has more than " +
                                            std::to_string(most) + " bytes");
  }

  /// Answers before the body has come. Of one that is short the rest is dropped, and the connection stays.
  void refuse(Reply reply, bool may_stay) {
    const auto left = may_stay ? parser_->content_length_remaining() : boost::none;
    to_drop_ = left.value_or(0);
    write(std::move(reply), left && to_drop_ <= kDropped && parser_->keep_alive());
  }
  void drop() {
    const std::uint64_t size = std::min<std::uint64_t>(to_drop_, buffer_.size());
    buffer_.consume(size);
    to_drop_ -= size;
    to_drop_ == 0 ? begin() : read();
  }

  // ---- answering ----

  void answer() {
    to_drop_ = 0;
    if (buffer_.size() == 0 && buffer_.capacity() > kLongestHeader) buffer_.shrink_to_fit();
    body_ = std::make_shared<std::string>(std::move(parser_->get().body()));
    message_.body = *body_;
    message_.body_owner = body_;
    const bool keep_alive = parser_->keep_alive();
    if (door_ == Door::metrics) return write(metrics(), keep_alive);
    if (is_of_live_view(message_.path)) return live(keep_alive);
    const beast::string_view encoding = parser_->get()[http::field::content_encoding];
    if (!encoding.empty() && encoding != "identity") {
      return write(error_reply(Http::bad_request, "compressed requests are not supported"), keep_alive);
    }
    ask(keep_alive);
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
      state_ = State::closed;
      serve_live(std::move(wire_), transport_, std::move(terms));
    } catch (const Refusal& refusal) {
      write(error_reply(refusal.status(), refusal.what()), keep_alive);
    }
  }

  /// Has the request answered, while this thread notices when the caller goes.
  void ask(bool keep_alive) {
    caller_ = std::make_shared<Caller>();
    state_ = State::answering;
    const auto held = std::make_shared<Held<HttpConnection>>(transport_, shared_from_this());
    const auto answered = [held, keep_alive, home = std::this_thread::get_id()](Reply reply) {
      const auto& self = held->get();
      if (std::this_thread::get_id() == home) return self->write(std::move(reply), keep_alive);
      asio::post(self->transport_.context, [self, keep_alive, reply = std::make_shared<Reply>(std::move(reply))] {
        self->write(std::move(*reply), keep_alive);
      });
    };
    rest_.answer(message_, caller_, arrived_, answered);
    if (state_ == State::answering && buffer_.size() == 0) read();
  }

  void caller_gone() {
    const auto caller = caller_;  // lives on, whatever follows
    caller->leave();
  }

  void write(Reply reply, bool keep_alive) {
    if (state_ == State::closed) return;
    caller_ = nullptr;
    turn_to(State::writing);
    keep_alive_ = keep_alive && !transport_.ending;
    reply_ = std::move(reply);
    head_ = head_of(reply_, parser_->get(), keep_alive_);
    const bool has_body = parser_->get().method() != http::verb::head;
    const std::array both = {asio::const_buffer(asio::buffer(head_)),
                             has_body ? asio::const_buffer(asio::buffer(reply_.body)) : asio::const_buffer()};
    asio::async_write(wire_, both, [self = shared_from_this()](error_code error, std::size_t) {
      if (self->state_ == State::closed) return;
      error ? self->close() : self->written();
    });
  }

  void written() {
    reply_ = {};
    if (!keep_alive_ || transport_.ending) return parser_->is_done() && !wire_.encrypted() ? close() : linger();
    if (to_drop_ == 0) return begin();
    turn_to(State::dropping);
    drop();
  }

  void linger() {
    turn_to(State::lingering);
    wire_.finish(shared_from_this());
    linger_on(since_);
  }
  /// As long as the client sends what it began with.
  void linger_on(Clock::time_point now) {
    buffer_.clear();
    if (now - arrived_ < transport_.patience()) since_ = now;
    read();
  }

  void close() {
    state_ = State::closed;
    wire_.close();
  }

  Wire wire_;
  Transport& transport_;
  const Rest rest_;
  const Door door_;
  State state_ = State::waiting;
  bool reading_ = false, keep_alive_ = false;
  Clock::time_point since_;  // of the state; while lingering, of the last bytes
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  Clock::time_point arrived_;  // with its header
  Message message_;
  std::uint64_t json_size_ = 0;  // of which the end is waited for to ask again whether the request is refused; or 0
  std::uint64_t to_drop_ = 0;    // of the body
  std::shared_ptr<std::string> body_;
  std::shared_ptr<Caller> caller_;  // while a request is answered
  Reply reply_;
  std::string head_;  // of the answer
};

}  // namespace

void serve_http(Wire wire, Transport& transport, Door door) {
  make_connection<HttpConnection>(transport, std::move(wire), transport, door)->begin();
}

}  // namespace frazil::server
