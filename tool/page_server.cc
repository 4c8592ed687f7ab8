#include "tool/page_server.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "server/net/listen.h"

namespace frazil::tool {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using beast::error_code;

constexpr auto kPatience = std::chrono::seconds(30);  ///< for a request to complete, and for the next one
constexpr std::uint32_t kMaxHeaderBytes = 16 * 1024;
constexpr std::size_t kMaxConnections = 64;

using Request = http::request<http::string_body>;
using Answer = http::response<http::span_body<const char>>;

/// Returns true if the host is this one, with any port, such as "localhost:8080".
bool names_this_host(std::string_view host) {
  host = host.substr(0, host.rfind(':'));
  return host == "127.0.0.1" || host == "localhost";
}

Answer made(const Request& request, http::status status, std::string_view type, std::string_view content) {
  Answer answer(status, request.version());
  answer.set(http::field::content_type, beast::string_view(type.data(), type.size()));
  answer.set(http::field::cache_control, "no-store");
  answer.set("X-Content-Type-Options", "nosniff");
  answer.keep_alive(request.keep_alive());
  if (request.method() != http::verb::head) answer.body() = {content.data(), content.size()};
  answer.content_length(content.size());
  return answer;
}

Answer refusal(const Request& request, http::status status, std::string_view text) {
  return made(request, status, "text/plain; charset=utf-8", text);
}

std::string_view path_of(const Request& request) {
  const std::string_view target(request.target().data(), request.target().size());
  return target.substr(0, target.find('?'));
}

/// What a server answers.
class Answers {
 public:
  virtual ~Answers() = default;
  virtual std::size_t max_bytes() const = 0;
  /// Returns the answer, which may point into `body`.
  virtual Answer answer(const Request& request, std::string& body) const = 0;
};

class PageAnswers : public Answers {
 public:
  explicit PageAnswers(const std::vector<PageFile>& files) : files_(files) {}

  std::size_t max_bytes() const override { return 0; }
  Answer answer(const Request& request, std::string&) const override {
    Answer answer = page(request);
    answer.set("Content-Security-Policy", "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:");
    return answer;
  }

 private:
  Answer page(const Request& request) const {
    const auto host = request[http::field::host];
    if (!names_this_host({host.data(), host.size()})) return refusal(request, http::status::forbidden, kForeign);
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
      Answer answer = refusal(request, http::status::method_not_allowed, kMethod);
      answer.set(http::field::allow, "GET, HEAD");
      return answer;
    }
    const std::string_view path = path_of(request);
    const auto file = std::ranges::find(files_, path, &PageFile::path);
    if (file == files_.end()) return refusal(request, http::status::not_found, kMissing);
    return made(request, http::status::ok, file->type, file->content);
  }

  static constexpr std::string_view kForeign = "The request names another host.\n",
                                    kMissing = "There is no such file.\n",
                                    kMethod = "Only GET and HEAD are answered.\n";

  const std::vector<PageFile>& files_;
};

class PostAnswers : public Answers {
 public:
  explicit PostAnswers(const PostService& service) : service_(service) {}

  std::size_t max_bytes() const override { return service_.max_bytes; }
  Answer answer(const Request& request, std::string& body) const override {
    if (path_of(request) != service_.path) return refusal(request, http::status::not_found, "There is no such path.\n");
    if (request.method() != http::verb::post) {
      Answer answer = refusal(request, http::status::method_not_allowed, "Only POST is answered.\n");
      answer.set(http::field::allow, "POST");
      return answer;
    }
    PostAnswer result = service_.answer(request.body());
    body = std::move(result.body);
    return made(request, static_cast<http::status>(result.status), result.type, body);
  }

 private:
  const PostService& service_;
};

/// One connection. Pending operations keep it alive.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, const Answers& answers, std::size_t& count)
      : stream_(std::move(socket)), answers_(answers), count_(count) {
    ++count_;
  }
  ~Connection() { --count_; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(answers_.max_bytes());
    stream_.expires_after(kPatience);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code error, std::size_t) { self->answer(error); });
  }

 private:
  void answer(error_code error) {
    if (error == http::error::body_limit) {
      answer_ = refusal(parser_->get(), http::status::payload_too_large, "The request is too large.\n");
      answer_.keep_alive(false);
    } else if (error) {
      return close();
    } else {
      answer_ = answers_.answer(parser_->get(), body_);
    }
    http::async_write(stream_, answer_, [self = shared_from_this()](error_code failed, std::size_t) {
      if (failed || !self->answer_.keep_alive()) return self->close();
      self->read();
    });
  }
  void close() {
    error_code ignored;
    // NOLINTNEXTLINE(bugprone-unused-return-value): the connection is given up anyway
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::string body_;  ///< of the answer
  Answer answer_;
  const Answers& answers_;
  std::size_t& count_;
};

class Listener {
 public:
  /// `connections` counts the open ones. It outlives the context, which destroys them.
  Listener(asio::io_context& context, const Answers& answers, std::size_t& connections)
      : acceptor_(context), answers_(answers), connections_(connections) {}

  error_code open(const asio::ip::address& address, std::uint16_t port) {
    return server::listen_at(acceptor_, {address, port});
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error && connections_ < kMaxConnections) {
        std::make_shared<Connection>(std::move(socket), answers_, connections_)->read();
      }
      accept();
    });
  }

 private:
  tcp::acceptor acceptor_;
  const Answers& answers_;
  std::size_t& connections_;
};

void serve(const Answers& answers, const asio::ip::address& address, std::uint16_t port,
           const std::function<void(std::uint16_t port)>& listening) {
  std::size_t connections = 0;
  asio::io_context context(1);
  Listener listener(context, answers, connections);
  if (const error_code error = listener.open(address, port)) {
    fail(Code::bad_input, "--port {}: {}", port, error.message());
  }
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](error_code, int) { context.stop(); });
  listener.accept();
  listening(listener.port());
  context.run();
}

}  // namespace

void serve_page(const std::vector<PageFile>& files, std::uint16_t port,
                const std::function<void(std::uint16_t port)>& listening) {
  serve(PageAnswers(files), asio::ip::address_v4::loopback(), port, listening);
}

void serve_posts(const PostService& service, const std::string& address, std::uint16_t port,
                 const std::function<void(std::uint16_t port)>& listening) {
  error_code error;
  const auto parsed = asio::ip::make_address(address, error);
  if (error) fail(Code::bad_input, "--host {}: expected an address such as 127.0.0.1 or ::", address);
  serve(PostAnswers(service), parsed, port, listening);
}

}  // namespace frazil::tool
