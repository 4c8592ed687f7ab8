// The service over HTTP: limits, callers that go, overload, the end.
#include <csignal>
#include <future>
#include <thread>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <gmock/gmock.h>

#include "server/running.h"

namespace frazil::test {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using testing::HasSubstr;

using Running = RunningServer;

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(context_) { socket_.connect({asio::ip::address_v4::loopback(), port}); }
  void send(std::string_view text) { asio::write(socket_, asio::buffer(text)); }
  void post(std::string_view path, std::string_view body) {
    send("POST " + std::string(path) + " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + std::string(body));
  }
  /// Status and body of the next answer; 0 when the connection is closed instead.
  std::pair<unsigned, std::string> receive() {
    http::response<http::string_body> response;
    boost::system::error_code error;
    http::read(socket_, buffer_, response, error);
    return error ? std::pair{0U, error.message()} : std::pair{response.result_int(), response.body()};
  }
  void close() { socket_.close(); }

 private:
  asio::io_context context_;
  asio::ip::tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
};

constexpr std::string_view kOne = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})",
                           kLong = R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[2000000000]}]})";

class HttpServer : public testing::Test {
 protected:
  HttpServer() {
    folder_.add("double", kDouble);
    folder_.add("count", kCount);
  }
  /// Waits until the metrics have a text.
  static void wait_for(const Running& server, std::string_view text) {
    for (;;) {
      Client client(server.ports.metrics);
      client.send("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
      if (client.receive().second.find(text) != std::string::npos) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  Folder folder_;
};

TEST_F(HttpServer, AnswersOneAfterTheOtherOnAConnection) {
  const Running server(folder_, {});
  Client client(server.ports.http);
  for (int i = 0; i < 3; ++i) {
    client.post("/v2/models/double/infer", kOne);
    const auto [status, body] = client.receive();
    EXPECT_EQ(status, 200U);
    EXPECT_THAT(body, HasSubstr(R"("data":[2,4])"));
  }
  client.send("GET /v2/health/ready HTTP/1.1\r\nHost: h\r\n\r\nGET /v2 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.receive().second, HasSubstr("ready"));
  EXPECT_THAT(client.receive().second, HasSubstr("extensions")) << "two requests at once are answered in order";
}

TEST_F(HttpServer, RefusesWhatIsTooLargeOrNoHttp) {
  const Running server(folder_, {.most_bytes = 1000});
  Client large(server.ports.http);
  large.send("POST /v2/models/double/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(large.receive().first, 413U);
  Client odd(server.ports.http);
  odd.send("HELLO\r\n\r\n");
  EXPECT_EQ(odd.receive().first, 400U);
  Client header(server.ports.http);
  header.send("GET /v2 HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(header.receive().first, 413U);
  Client compressed(server.ports.http);
  compressed.send(
      "POST /v2/models/double/infer HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_EQ(compressed.receive().first, 400U);
}

TEST_F(HttpServer, TellsClientsThatWaitToGoOn) {
  const Running server(folder_, {});
  Client client(server.ports.http);
  client.send("POST /v2/models/double/infer HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: " +
              std::to_string(kOne.size()) + "\r\n\r\n");
  EXPECT_EQ(client.receive().first, 100U);
  client.send(kOne);
  EXPECT_EQ(client.receive().first, 200U);
}

TEST_F(HttpServer, SlowRequestsAreGivenUp) {
  const Running server(folder_, {.patience_s = 0.05});
  Client client(server.ports.http);
  client.send("POST /v2/models/double/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(client.receive().first, 0U);
}

TEST_F(HttpServer, EndsRunsOfCallersThatGo) {
  const Running server(folder_, {});
  Client gone(server.ports.http);
  gone.post("/v2/models/count/infer", kLong);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  gone.close();
  wait_for(server, R"(frazil_requests_total{model="count",version="1",outcome="failure"} 1)");
  Client next(server.ports.http);
  next.post("/v2/models/double/infer", kOne);
  EXPECT_EQ(next.receive().first, 200U) << "the only worker is free again";
}

TEST_F(HttpServer, RefusesWhatItCannotTakeInTime) {
  const Running server(folder_, {}, 1);
  Client first(server.ports.http), second(server.ports.http);
  first.post("/v2/models/count/infer", kLong);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  second.post("/v2/models/double/infer", kOne);
  EXPECT_EQ(second.receive().first, 429U);
  second.send("GET /v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(second.receive().first, 200U);
  first.close();
  wait_for(server, R"(outcome="failure"} 1)");
}

TEST_F(HttpServer, AnswersWhatHasArrivedBeforeItEnds) {
  Running server(folder_, {});
  Client idle(server.ports.http), running(server.ports.http);
  running.post("/v2/models/count/infer", R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[3000000]}]})");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  server.end();
  EXPECT_EQ(running.receive().first, 200U);
  EXPECT_EQ(idle.receive().first, 0U);
}

TEST_F(HttpServer, AddressesThatCannotBeUsedAreRefused) {
  server::Service service(options_of(folder_));
  EXPECT_THROW(server::serve(service, {.host = "nowhere"}, {}), api::Error);
}

}  // namespace
}  // namespace frazil::test
