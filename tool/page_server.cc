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

using Request = http::request<http::empty_body>;
using Answer = http::response<http::span_body<const char>>;

/// Returns true if the host is this one, with any port, such as "localhost:8080".
bool names_this_host(std::string_view host) {
  host = host.substr(0, host.rfind(':'));
  return host == "127.0.0.1" || host == "localhost";
}

class PageAnswers {
 public:
  explicit PageAnswers(const std::vector<PageFile>& files) : files_(files) {}

  Answer answer(const Request& request) const {
    const auto host = request[http::field::host];
    if (!names_this_host({host.data(), host.size()})) return refusal(request, http::status::forbidden, kForeign);
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
      Answer answer = refusal(request, http::status::method_not_allowed, kMethod);
      answer.set(http::field::allow, "GET, HEAD");
      return answer;
    }
    std::string_view path(request.target().data(), request.target().size());
    path = path.substr(0, path.find('?'));
    const auto file = std::ranges::find(files_, path, &PageFile::path);
    if (file == files_.end()) return refusal(request, http::status::not_found, kMissing);
    return made(request, http::status::ok, file->type, file->content);
  }

 private:
  static constexpr std::string_view kForeign = "The request names another host.\n",
                                    kMissing = "There is no such file.\n",
                                    kMethod = "Only GET and HEAD are answered.\n";

  static Answer refusal(const Request& request, http::status status, std::string_view text) {
    return made(request, status, "text/plain; charset=utf-8", text);
  }

  static Answer made(const Request& request, http::status status, std::string_view type, std::string_view content) {
    Answer answer(status, request.version());
    answer.set(http::field::content_type, beast::string_view(type.data(), type.size()));
    answer.set(http::field::cache_control, "no-store");
    answer.set("Content-Security-Policy", "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:");
    answer.set("X-Content-Type-Options", "nosniff");
    answer.keep_alive(request.keep_alive());
    if (request.method() != http::verb::head) answer.body() = {content.data(), content.size()};
    answer.content_length(content.size());
    return answer;
  }

  const std::vector<PageFile>& files_;
};

/// One connection. Pending operations keep it alive.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, const PageAnswers& pages, std::size_t& count)
      : stream_(std::move(socket)), pages_(pages), count_(count) {
    ++count_;
  }
  ~Connection() { --count_; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    stream_.expires_after(kPatience);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code error, std::size_t) { self->answer(error); });
  }

 private:
  void answer(error_code error) {
    if (error) return close();
    answer_ = pages_.answer(parser_->get());
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
  std::optional<http::request_parser<http::empty_body>> parser_;
  Answer answer_;
  const PageAnswers& pages_;
  std::size_t& count_;
};

class Listener {
 public:
  /// `connections` counts the open ones. It outlives the context, which destroys them.
  Listener(asio::io_context& context, const PageAnswers& pages, std::size_t& connections)
      : acceptor_(context), pages_(pages), connections_(connections) {}

  error_code open(std::uint16_t port) { return server::listen_at(acceptor_, {asio::ip::address_v4::loopback(), port}); }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error && connections_ < kMaxConnections) {
        std::make_shared<Connection>(std::move(socket), pages_, connections_)->read();
      }
      accept();
    });
  }

 private:
  tcp::acceptor acceptor_;
  const PageAnswers& pages_;
  std::size_t& connections_;
};

}  // namespace

void serve_page(const std::vector<PageFile>& files, std::uint16_t port,
                const std::function<void(std::uint16_t port)>& listening) {
  const PageAnswers pages(files);
  std::size_t connections = 0;
  asio::io_context context(1);
  Listener listener(context, pages, connections);
  if (const error_code error = listener.open(port)) {
    fail(Code::bad_input, "--port {}: {}", port, error.message());
  }
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](error_code, int) { context.stop(); });
  listener.accept();
  listening(listener.port());
  context.run();
}

}  // namespace frazil::tool
