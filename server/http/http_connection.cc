#include "server/http/http_connection.h"

#include <array>
#include <memory>
#include <optional>
#include <thread>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "server/config/yaml.h"
#include "server/http/answer_stream.h"
#include "server/http/http_request.h"
#include "server/http/rest.h"
#include "server/web/live_stream.h"

namespace frazil::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kMaxKept = 16 * 1024;     // capacity of the buffer kept between requests
constexpr std::uint64_t kDropped = 256 * 1024;  // limit for dropping a refused body; beyond it the connection closes

/// Compresses the body of a large reply with gzip.
void compress_body(Reply& reply, std::uint64_t from) {
  if (reply.body.size() < from) return;
  reply.headers.emplace_back("Vary", "Accept-Encoding");
  auto shorter = deflated(reply.body, Coding::gzip);
  if (!shorter) return;
  reply.body = std::move(*shorter);
  reply.headers.emplace_back("Content-Encoding", name_of(Coding::gzip));
}

/// The parameter keeps the caller alive during the call.
void leave(const std::shared_ptr<Caller> caller) { caller->leave(); }  // NOLINT(performance-unnecessary-value-param)

/// One connection. Pending operations keep it alive.
class HttpConnection : public Connection, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(Wire wire, Transport& transport, Service& service, PortKind port_kind)
      : Connection(transport, client_address(wire.socket())),
        wire_(std::move(wire)),
        transport_(transport),
        service_(service),
        rest_(service, port_kind),
        connected_(service.traffic(), Protocol::http),
        entry_(transport.options.access) {}

  /// Waits for the next request.
  void begin() {
    request_.emplace(transport_.options);
    being_read_ = std::nullopt;
    in_step_ = true;
    turn_to(State::waiting);
    if (buffer_.size() == 0) return read();
    state_ = State::reading;
    parse(since_);
  }

  void end() override {
    if (state_ == State::waiting) close();
  }
  void abort() override {
    close();
    if (caller_ != nullptr) leave(caller_);
  }
  std::optional<Clock::time_point> idle_since() const override {
    const bool without_request =
        state_ == State::waiting || state_ == State::lingering || (state_ == State::reading && !request_->has_head());
    return without_request ? std::optional(since_) : std::nullopt;
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
    answering,  ///< without a time limit
    writing,    ///< the answer
    dropping,   ///< the rest of a refused body
    lingering,  ///< until the client closes: closing a socket with unread bytes may discard the last answer, and TLS
                ///< ends with a close_notify
    closed
  };

  void turn_to(State state) {
    state_ = state;
    since_ = Clock::now();
  }

  // ---- reading ----

  /// Starts a read unless one is pending. A read after a complete request detects that the caller leaves; it may still
  /// be pending when the answer is complete.
  void read() {
    if (at_end_) return needs_bytes() ? close() : void();
    if (std::exchange(reading_, true)) return;
    const bool dropped = state_ == State::dropping || state_ == State::lingering;
    wire_.async_read_some(buffer_.prepare(dropped ? kLongRead : request_->next_read_size()),
                          [self = shared_from_this()](error_code error, std::size_t size) {
                            self->reading_ = false;
                            self->received(error, size);
                          });
  }
  /// Returns true if the current state waits for bytes.
  bool needs_bytes() const { return state_ != State::answering && state_ != State::writing; }
  void received(error_code error, std::size_t size) {
    buffer_.commit(size);
    at_end_ = bool(error);  // the end is not read again
    const auto now = Clock::now();
    switch (state_) {
      case State::waiting:
        since_ = now;
        state_ = State::reading;
        [[fallthrough]];
      case State::reading: return error ? close() : parse(now);
      case State::answering: return error ? leave(caller_) : void();
      case State::dropping: return error ? close() : drop();
      case State::lingering: return error ? close() : linger_on(now);
      case State::writing:
      case State::closed: return;
    }
  }

  void parse(Clock::time_point now) {
    const bool knew_head = request_->has_head();
    if (!knew_head && !admit_request(now)) return;
    if (auto refusal = request_->take_body(buffer_)) return refuse(std::move(*refusal), false);
    message_.body = request_->body();
    buffered_.set(message_.body.size());
    if (const auto refusal = transport_.over_memory_limit(); refusal && message_.method == "POST") {
      return refuse(error_reply(*refusal), request_->complete());
    }
    if (request_->complete()) return answer();
    knew_head ? read_on() : wait_for_body();
  }

  /// Reads the header and decides whether the request is answered. Returns true if the body may be read.
  bool admit_request(Clock::time_point now) {
    arrived_ = now;
    const auto peer = [this] { return peer_address(wire_.socket()); };
    if (auto refusal = request_->take_head(buffer_)) {
      entry_.begin("http", "", "", peer);
      return refuse(std::move(*refusal), false), false;
    }
    if (!request_->has_head()) return read(), false;
    message_ = message_of(request_->head());
    message_.certificate = wire_.client();
    begin_entry(peer);
    auto admitted = rest_.admit(message_);
    if (!admitted) return refuse(std::move(admitted.error()), true), false;
    if (message_.method == "GET" && !request_->complete()) {
      return refuse(error_reply(Http::bad_request, "a GET request has a body: expected none"), true), false;
    }
    admitted_ = std::move(*admitted);
    entry_.set_caller(admitted_.tenant(), admitted_.model());
    if (const auto refusal = transport_.over_memory_limit(request_->left().value_or(0));
        refusal && message_.method == "POST") {
      return refuse(error_reply(*refusal), !expects_continue(request_->head())), false;
    }
    return true;
  }

  /// Waits for the body, unless the request would be refused anyway.
  void wait_for_body() {
    const bool waits = message_.body.empty() && expects_continue(request_->head());
    json_size_ = whole_from(message_.json_size.value_or("0")).value_or(0);
    if (message_.body.size() >= json_size_) json_size_ = 0;
    if (auto refusal = early_refusal(transport_.being_read.count())) return refuse(std::move(*refusal), !waits);
    being_read_ = transport_.being_read.add();
    if (!waits) return read();
    static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(wire_, asio::buffer(kGoOn), [self = shared_from_this()](error_code error, std::size_t) {
      if (self->state_ == State::closed) return;
      error ? self->close() : self->read();
    });
  }
  /// Continues to read. Checks for refusal again when the JSON before binary tensors is complete.
  void read_on() {
    if (json_size_ == 0 || message_.body.size() < json_size_) return read();
    json_size_ = 0;
    if (auto refusal = early_refusal(0)) return refuse(std::move(*refusal), true);
    read();
  }
  /// `ahead`: the requests that are being read and get their places first.
  std::optional<Reply> early_refusal(std::size_t ahead) const {
    return rest_.refusal(admitted_, message_, arrived_, ahead);
  }

  /// Answers before the body is complete. If the rest of the body is short, it is dropped and the connection is kept.
  void refuse(Reply reply, bool may_stay) {
    const auto left = may_stay ? request_->left() : std::nullopt;
    to_drop_ = left.value_or(0);
    in_step_ = left.has_value();
    write(std::move(reply), left && to_drop_ <= kDropped && request_->keep_alive());
  }
  void drop() {
    const std::uint64_t size = std::min<std::uint64_t>(to_drop_, buffer_.size());
    buffer_.consume(size);
    to_drop_ -= size;
    to_drop_ -= wire_.discard(to_drop_);
    to_drop_ == 0 ? begin() : read();
  }

  // ---- answering ----

  void answer() {
    to_drop_ = 0;
    if (const auto round = std::exchange(being_read_, std::nullopt)) transport_.being_read.remove(*round);
    if (buffer_.size() == 0 && buffer_.capacity() > kMaxKept) buffer_.shrink_to_fit();
    const auto body = std::make_shared<std::string>(std::move(request_->body()));
    entry_.received(body->size());
    message_.body = *body;
    message_.body_owner = body;
    message_.inline_slot = transport_.inline_slot_for(body->size());
    const bool keep_alive = request_->keep_alive();
    admitted_.streams_events() ? tell_events(keep_alive) : ask(keep_alive);
  }

  /// Passes the connection to the event stream of the live view.
  void tell_events(bool keep_alive) {
    try {
      LiveTerms terms = live_terms(message_, admitted_.rule(), transport_);
      rest_.check_action(admitted_);
      state_ = State::closed;
      entry_.end(static_cast<unsigned>(Http::ok));
      serve_live(std::move(wire_), transport_, service_, std::move(terms));
    } catch (const Refusal& refusal) {
      write(error_reply(refusal), keep_alive);
    }
  }

  /// Starts the answer; meanwhile this thread notices when the caller leaves.
  void ask(bool keep_alive) {
    caller_ = std::make_shared<Caller>();
    state_ = State::answering;
    const auto held = std::make_shared<Held<HttpConnection>>(transport_, shared_from_this());
    const auto answered = [held, keep_alive, zip = accepts_gzip(request_->head()),
                           home = std::this_thread::get_id()](Reply reply) {
      const auto& self = held->get();
      self->hide_details(reply);
      if (zip && !reply.more && reply.type != kEventStream)
        compress_body(reply, self->transport_.options.compress_from);
      if (std::this_thread::get_id() == home) return self->write(std::move(reply), keep_alive);
      asio::post(self->transport_.context, [self, keep_alive, reply = std::make_shared<Reply>(std::move(reply))] {
        self->write(std::move(*reply), keep_alive);
      });
    };
    rest_.answer(std::move(admitted_), message_, caller_, arrived_, answered);
    if (state_ == State::answering && buffer_.size() == 0) read();
  }

  /// Writes a part of an answer, or the last one.
  void write_part(const Reply& reply, bool keep_alive) {
    if (caller_ == nullptr || (parts_ == nullptr && state_ == State::closed)) return;  // the caller has left
    if (parts_ == nullptr) {
      const bool chunked = !is_http_1_0(request_->head());
      keep_alive_ = chunked && keep_alive && !transport_.ending;
      parts_ = std::make_unique<AnswerStream>(
          AnswerStream::Form{.chunked = chunked, .keep_alive = keep_alive_}, caller_,
          [this](std::string_view bytes, AnswerStream::Ended ended) { write_bytes(bytes, std::move(ended)); },
          [this](bool good) { end_parts(good); });
    }
    entry_.sent(reply.body.size());
    parts_->add(reply);
  }

  void write_bytes(std::string_view bytes, AnswerStream::Ended ended) {
    if (state_ != State::closed) turn_to(State::writing);
    asio::async_write(wire_, asio::buffer(bytes),
                      [self = shared_from_this(), ended = std::move(ended)](error_code error, std::size_t) {
                        if (self->state_ == State::writing) {
                          self->state_ = State::answering;
                          if (self->buffer_.size() == 0) self->read();
                        }
                        ended(!error);
                      });
  }

  void end_parts(bool good) {
    const auto keep = std::move(parts_);
    const Http status = caller_->disconnected() ? Http::cancelled : Http::ok;
    service_.traffic().answered(Protocol::http, static_cast<unsigned>(status));
    entry_.end(static_cast<unsigned>(status));
    caller_ = nullptr;
    good&& state_ != State::closed ? written() : close();
  }

  void begin_entry(const std::function<std::string()>& peer) {
    if (service_.privacy() == nullptr) return entry_.begin("http", message_.method, message_.path, peer);
    constexpr std::array<std::string_view, 5> kKnown{"GET", "POST", "PUT", "DELETE", "HEAD"};
    const bool known = std::ranges::find(kKnown, message_.method) != kKnown.end();
    entry_.begin("http", known ? message_.method : "*", Privacy::path(message_.path, *service_.repository()), peer);
  }

  /// Replaces the body of an error by one without what the request may contain, if that may be personal.
  void hide_details(Reply& reply) const {
    if (!reply.plain.empty() && service_.privacy() != nullptr) reply.body = std::exchange(reply.plain, {});
  }

  void write(Reply reply, bool keep_alive) {
    hide_details(reply);
    if (reply.more || parts_ != nullptr) return write_part(reply, keep_alive);
    const auto status = static_cast<unsigned>(reply.status);
    entry_.sent(reply.body.size());
    entry_.end(status);
    if (state_ == State::closed) return;
    service_.traffic().answered(Protocol::http, status,
                                reply.status == Http::ok ? std::string_view() : std::string_view(reply.body));
    caller_ = nullptr;
    turn_to(State::writing);
    keep_alive_ = keep_alive && !transport_.ending;
    reply_ = std::move(reply);
    message_ = {};
    admitted_ = {};
    buffered_.set(reply_.body.size());
    const RequestHead& asked = request_->head();
    head_ = head_of(reply_, {.keep_alive = keep_alive_, .http_1_0 = is_http_1_0(asked), .length = reply_.body.size()});
    const bool has_body = asked.method() != boost::beast::http::verb::head;
    const std::array both = {asio::const_buffer(asio::buffer(head_)),
                             has_body ? asio::const_buffer(asio::buffer(reply_.body)) : asio::const_buffer()};
    asio::async_write(wire_, both, [self = shared_from_this()](error_code error, std::size_t) {
      if (self->state_ == State::closed) return;
      error ? self->close() : self->written();
    });
  }

  void written() {
    reply_ = {};
    message_ = {};
    buffered_.set(0);
    const bool whole = request_->complete() && in_step_;
    if (!keep_alive_ || transport_.ending) return whole && !wire_.encrypted() ? close() : linger();
    if (to_drop_ == 0) return begin();
    turn_to(State::dropping);
    drop();
  }

  void linger() {
    turn_to(State::lingering);
    wire_.finish(shared_from_this());
    linger_on(since_);
  }
  /// Keeps lingering while the client sends, within the patience for the request.
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
  Service& service_;
  const Rest rest_;
  const Traffic::Connected connected_;
  AccessEntry entry_;
  State state_ = State::waiting;
  bool reading_ = false, at_end_ = false, keep_alive_ = false;
  bool in_step_ = true;      // the start of the next request is known
  Clock::time_point since_;  // of the state; while lingering, of the last bytes
  boost::beast::flat_buffer buffer_;
  std::optional<HttpRequest> request_;
  Clock::time_point arrived_;  // when the header arrived
  Message message_;
  Rest::Admitted admitted_;
  std::optional<RequestsBeingRead::Round> being_read_;
  std::uint64_t json_size_ = 0;  // end of the JSON, for another check of the refusal; 0: no check
  std::uint64_t to_drop_ = 0;    // of the body
  Buffered buffered_{transport_};
  std::shared_ptr<Caller> caller_;       // set while a request is answered
  std::unique_ptr<AnswerStream> parts_;  // set while its answer is sent in parts
  Reply reply_;
  std::string head_;  // of the answer
};

}  // namespace

void serve_http(Wire wire, Transport& transport, Service& service, PortKind port_kind) {
  make_connection<HttpConnection>(transport, std::move(wire), transport, service, port_kind)->begin();
}

}  // namespace frazil::server
