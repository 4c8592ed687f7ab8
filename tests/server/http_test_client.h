#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include "server/client_socket.h"

// A client of HTTP/1.1 that does what it is told, also what a proper one would not.
namespace frazil::test {

/// For the model of kDouble.
constexpr std::string_view kOne = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})",
                           kOneAnswer = R"("data":[2,4])";

/// `Stream` is made of a ClientSocket and what else it needs.
template <class Stream = ClientSocket>
class BasicHttpClient {
 public:
  /// At a port, or the path of a Unix socket.
  template <class Where, class... Arguments>
  explicit BasicHttpClient(const Where& where, Arguments&&... arguments)
      : stream_(connected(context_, where), std::forward<Arguments>(arguments)...) {}

  Stream& stream() { return stream_; }
  void send(std::string_view text) { boost::asio::write(stream_, boost::asio::buffer(text)); }
  void get(std::string_view target, std::string_view headers = "") {
    send("GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) + "\r\n");
  }
  void post(std::string_view path, std::string_view body, std::string_view headers = "") {
    send("POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) +
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
  /// Goes on with what is under way.
  void poll() { context_.poll(); }
  void close() { stream_.lowest_layer().close(); }

 private:
  boost::asio::io_context context_;
  Stream stream_;
  boost::beast::flat_buffer buffer_;
};

using HttpClient = BasicHttpClient<>;

}  // namespace frazil::test
