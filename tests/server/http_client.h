#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

// A client of HTTP/1.1 that does what it is told, also what a proper one would not.
namespace frazil::test {

/// For the model of kDouble.
constexpr std::string_view kOne = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})",
                           kOneAnswer = R"("data":[2,4])";

using ClientSocket = boost::asio::generic::stream_protocol::socket;

/// `Stream`: a socket, or something over one that it takes as its first argument.
template <class Stream = ClientSocket>
class HttpClient {
 public:
  template <class... Arguments>
  explicit HttpClient(std::uint16_t port, Arguments&&... arguments)
      : stream_(connected(boost::asio::ip::tcp::endpoint(boost::asio::ip::address_v4::loopback(), port)),
                std::forward<Arguments>(arguments)...) {}
  /// At a Unix socket.
  explicit HttpClient(const std::string& path)
      : stream_(connected(boost::asio::local::stream_protocol::endpoint(path))) {}

  Stream& stream() { return stream_; }
  void send(std::string_view text) { boost::asio::write(stream_, boost::asio::buffer(text)); }
  void get(std::string_view target, std::string_view headers = "") {
    send("GET " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n" + std::string(headers) + "\r\n");
  }
  void post(std::string_view path, std::string_view body, std::string_view headers = "") {
    send("POST " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(headers) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
  }
  struct Answer {
    unsigned status = 0;  ///< 0: the connection is closed instead
    std::string body;     ///< or why
    boost::beast::http::fields fields = {};
  };
  Answer receive() {
    boost::beast::http::response<boost::beast::http::string_body> response;
    boost::system::error_code error;
    boost::beast::http::read(stream_, buffer_, response, error);
    if (error) return {.body = error.message()};
    return {.status = response.result_int(), .body = response.body(), .fields = response.base()};
  }
  /// What comes up to a text and with it, as it is.
  std::string text_up_to(const std::string& mark) {
    std::string text;
    const std::size_t size = boost::asio::read_until(stream_, boost::asio::dynamic_buffer(text), mark);
    return text.substr(0, size);
  }
  void close() { stream_.lowest_layer().close(); }

 private:
  template <class Endpoint>
  ClientSocket connected(const Endpoint& there) {
    typename Endpoint::protocol_type::socket socket(context_);
    socket.connect(there);
    return socket;
  }

  boost::asio::io_context context_;
  Stream stream_;
  boost::beast::flat_buffer buffer_;
};

}  // namespace frazil::test
