#include "server/web/live_stream.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "server/net/url.h"
#include "server/web/live.h"

namespace frazil::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;

constexpr milliseconds kDefaultInterval{1000}, kMinInterval{100}, kMaxInterval{10'000};
constexpr milliseconds kLastEventWait{1000};  ///< limit for sending the last event
constexpr int kSendBuffer = 64 * 1024;        ///< bounds the system's buffer if the client does not read
constexpr std::string_view kHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
    "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";

/// One client. Pending operations keep it alive.
class LiveStream : public Connection, public std::enable_shared_from_this<LiveStream> {
 public:
  LiveStream(Wire wire, Transport& transport, Service& service, LiveTerms terms)
      : Connection(transport, client_address(wire.socket())),
        wire_(std::move(wire)),
        transport_(transport),
        service_(service),
        terms_(std::move(terms)),
        view_(service),
        timer_(transport.context),
        connected_(service.traffic(), Protocol::live) {
    ++transport_.totals.live_clients;
  }
  ~LiveStream() override { --transport_.totals.live_clients; }

  void begin() try {
    error_code ignored;
    // NOLINTNEXTLINE(bugprone-unused-return-value): with the system's size it works, too
    wire_.socket().set_option(Socket::send_buffer_size(kSendBuffer), ignored);
    watch();
    write(std::string(kHead) + event());
    next_ = Clock::now();
    wait();
  } catch (const Refusal&) {
    close();  // the client's key has just been removed
  }

  void end() override {
    ending_ = true;
    timer_.expires_after(kLastEventWait);
    timer_.async_wait([self = shared_from_this()](error_code) { self->close(); });
    if (!writing_) say_end();
  }
  void abort() override { close(); }
  void check(Clock::time_point now) override {
    if (writing_ && now - began_ > transport_.patience()) close();
  }

 private:
  std::string event() {
    const auto identity =
        service_.gate().admit(terms_.rule, {.authorization = terms_.authorization, .certificate = wire_.client()});
    return "data: " + view_.snapshot(dropped_, identity) + "\n\n";
  }

  void wait() {
    next_ = std::max(next_ + terms_.every, Clock::now());
    timer_.expires_at(next_);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (!error && !self->ending_ && self->wire_.is_open()) self->send_snapshot();
    });
  }

  void send_snapshot() try {
    if (!writing_) {
      write(event());
    } else {
      ++dropped_;
    }
    wait();
  } catch (const Refusal&) {
    end();
  }

  void write(std::string text) {
    text_ = std::move(text);
    writing_ = true;
    began_ = Clock::now();
    asio::async_write(wire_, asio::buffer(text_), [self = shared_from_this()](error_code error, std::size_t) {
      self->writing_ = false;
      if (error || self->said_end_) return self->close();
      if (self->ending_) self->say_end();
    });
  }

  void say_end() {
    said_end_ = true;
    write("event: end\ndata: {}\n\n");
  }

  /// Reads and discards bytes to detect that the client leaves.
  void watch() {
    wire_.async_read_some(asio::buffer(heard_), [self = shared_from_this()](error_code error, std::size_t) {
      error ? self->close() : self->watch();
    });
  }

  void close() {
    timer_.cancel();
    wire_.close();
  }

  Wire wire_;
  Transport& transport_;
  Service& service_;
  const LiveTerms terms_;
  LiveView view_;
  asio::steady_timer timer_;
  const Traffic::Connected connected_;
  Clock::time_point next_, began_;  // time of the next event; beginning of the last write
  std::uint64_t dropped_ = 0;
  bool writing_ = false, ending_ = false, said_end_ = false;
  std::string text_;
  std::array<char, 256> heard_ = {};
};

}  // namespace

LiveTerms live_terms(const Message& message, const Rule& rule, const Transport& transport) {
  milliseconds every = kDefaultInterval;
  for (const auto& [key, value] : query_of(message.query)) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = parsed.ec == std::errc() && parsed.ptr == value.data() + value.size();
    every = milliseconds(number);
    if (key != "every_ms" || !whole || every < kMinInterval || every > kMaxInterval) {
      const std::string given = std::string(key).append("=").append(value);
      throw Refusal(Http::bad_request, "query '" + given + "': expected every_ms of 100 to 10000");
    }
  }
  if (transport.ending) throw Refusal(Http::unavailable, "the server is ending");
  if (transport.totals.live_clients >= kMaxLiveClients) {
    throw Refusal(Http::unavailable,
                  "the live view has " + std::to_string(kMaxLiveClients) + " clients already, which is the limit");
  }
  const Rule again{.access = rule.access, .feature = rule.feature, .browser = Browser::any_page};  // was checked
  return {.every = every, .rule = again, .authorization = std::string(message.authorization)};
}

void serve_live(Wire wire, Transport& transport, Service& service, LiveTerms terms) {
  std::make_shared<LiveStream>(std::move(wire), transport, service, std::move(terms))->begin();
}

}  // namespace frazil::server
