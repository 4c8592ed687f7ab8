// The service over HTTP: limits, callers that go, overload, the end.
#include <csignal>
#include <cstdio>
#include <deque>
#include <future>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <poll.h>

#include "server/http_test_client.h"
#include "server/running.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;

constexpr std::string_view kLongCountBody =
    R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[2000000000]}]})";

class HttpServer : public testing::Test {
 protected:
  HttpServer() {
    folder_.add("double", kDouble);
    folder_.add("count", kCount);
  }
  /// Waits until the metrics have a text.
  static void wait_for(const RunningServer& server, std::string_view text) {
    for (;;) {
      HttpClient client(server.ports.metrics);
      client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
      if (client.receive().body.find(text) != std::string::npos) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  Folder folder_;
  std::deque<boost::asio::io_context> contexts_;
};

TEST_F(HttpServer, AnswersOneAfterTheOtherOnAConnection) {
  const RunningServer server(folder_, {});
  HttpClient client(server.ports.http);
  for (int i = 0; i < 3; ++i) {
    client.post("/v2/models/double/infer", kOne);
    const auto [status, body, fields] = client.receive();
    EXPECT_EQ(status, 200U);
    EXPECT_THAT(body, HasSubstr(R"("data":[2,4])"));
  }
  client.send("GET /v2/health/ready HTTP/1.1\r\nHost: localhost\r\n\r\nGET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.receive().body, HasSubstr("ready"));
  EXPECT_THAT(client.receive().body, HasSubstr("extensions")) << "two requests at once are answered in order";
}

TEST_F(HttpServer, ClosesBehindTheAnswerWhereTheClientHasEnded) {
  const RunningServer server(folder_, {.patience_s = 100'000});
  for (int i = 0; i < 100; ++i) {
    HttpClient client(server.ports.http);
    client.post("/v2/models/double/infer", kOne);
    client.stream().lowest_layer().shutdown(boost::asio::socket_base::shutdown_send);
    client.receive();
    EXPECT_EQ(client.receive().status, 0U);
  }
}

TEST_F(HttpServer, RefusesWhatIsTooLargeOrNoHttp) {
  const RunningServer server(folder_, {.max_bytes = 1000});
  HttpClient large(server.ports.http);
  large.send("POST /v2/models/double/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(large.receive().status, 413U);
  HttpClient odd(server.ports.http);
  odd.send("HELLO\r\n\r\n");
  EXPECT_EQ(odd.receive().status, 400U);
  HttpClient header(server.ports.http);
  header.send("GET /v2 HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(header.receive().status, 413U);
}

TEST_F(HttpServer, TellsClientsThatWaitToGoOn) {
  const RunningServer server(folder_, {});
  HttpClient client(server.ports.http);
  client.send("POST /v2/models/double/infer HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: " +
              std::to_string(kOne.size()) + "\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100U);
  client.send(kOne);
  EXPECT_EQ(client.receive().status, 200U);
}

const std::string kBegun = "POST /v2/models/double/infer HTTP/1.1\r\nHost: localhost\r\n";

class SlowRequests : public HttpServer, public testing::WithParamInterface<std::string> {};

TEST_P(SlowRequests, AreGivenUp) {
  const RunningServer server(folder_, {.patience_s = 0.05});
  HttpClient client(server.ports.http);
  client.send(GetParam());
  const auto [status, why, fields] = client.receive();
  EXPECT_EQ(status, 0U);
  EXPECT_EQ(why, "end of stream") << "the connection ends without an answer";
}

TEST_P(SlowRequests, AreWaitedForAsLongAsTheyMayTake) {
  const RunningServer server(folder_, {.patience_s = 100'000});
  HttpClient client(server.ports.http), other(server.ports.http);
  client.send(GetParam());
  for (int i = 0; i < 3; ++i) {
    other.post("/v2/models/double/infer", kOne);
    EXPECT_EQ(other.receive().status, 200U);
  }
  pollfd nothing{.fd = client.stream().native_handle(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&nothing, 1, 0), 0) << "neither an answer nor an end";
}

INSTANTIATE_TEST_SUITE_P(Parts, SlowRequests,
                         testing::Values("POST /v2", kBegun, kBegun + "Content-Length: 10\r\n\r\nabc"));

TEST_F(HttpServer, EndsRunsOfCallersThatGo) {
  const RunningServer server(folder_, {});
  HttpClient gone(server.ports.http);
  gone.post("/v2/models/count/infer", kLongCountBody);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  gone.close();
  wait_for(server, R"(frazil_requests_total{model="count",version="1",outcome="failure"} 1)");
  HttpClient next(server.ports.http);
  next.post("/v2/models/double/infer", kOne);
  EXPECT_EQ(next.receive().status, 200U) << "the only worker is free again";
}

TEST_F(HttpServer, RefusesWhatItCannotTakeInTime) {
  const RunningServer server(folder_, {}, 1);
  HttpClient first(server.ports.http), second(server.ports.http);
  first.post("/v2/models/count/infer", kLongCountBody);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  second.post("/v2/models/double/infer", kOne);
  EXPECT_EQ(second.receive().status, 429U);
  second.send("GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(second.receive().status, 200U);
  first.close();
  wait_for(server, R"(outcome="failure"} 1)");
}

std::string head_of_body(std::size_t size, const std::string& more = "") {
  return "POST /v2/models/double/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(size) +
         "\r\n" + more + "\r\n";
}

TEST_F(HttpServer, RefusesBeforeABodyIsSent) {
  const RunningServer server(folder_, {}, 1);
  HttpClient running(server.ports.http);
  running.post("/v2/models/count/infer", kLongCountBody);
  server.wait_for_start("count");
  const struct {
    const char* what;
    std::string head;
    std::size_t body;
    bool stays;
  } cases[] = {
      {"a short body is dropped", head_of_body(100'000), 100'000, true},
      {"a long one costs the connection", head_of_body(10'000'000), 10'000'000, false},
      {"as does one of unknown length",
       "POST /v2/models/double/infer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", 10, false},
      {"and one that may never come", head_of_body(10, "Expect: 100-continue\r\n"), 0, false},
      {"the client wants no more", head_of_body(10, "Connection: close\r\n"), 10, false}};
  for (const auto& c : cases) {
    HttpClient client(server.ports.http);
    client.send(c.head);
    EXPECT_EQ(client.receive().status, 429U) << c.what << ": and the answer is the final one";
    client.send(std::string(c.body, 'x'));
    if (c.stays) client.send("GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const auto [status, text, fields] = client.receive();
    EXPECT_EQ(status, c.stays ? 200U : 0U) << c.what << ": " << text;
    if (!c.stays) {
      EXPECT_EQ(text, "end of stream") << "without a reset, which could take the answer back";
    }
  }
}

TEST_F(HttpServer, BoundsWhatAllConnectionsHold) {
  const RunningServer server(folder_, {.max_buffered = 1'000'000});
  std::deque<HttpClient> clients;
  std::vector<pollfd> waiting;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(server.ports.http).send(head_of_body(400'000) + std::string(340'000, 'x'));
    waiting.push_back({.fd = clients.back().stream().native_handle(), .events = POLLIN, .revents = 0});
  }
  ASSERT_GT(::poll(waiting.data(), waiting.size(), -1), 0) << "one is too much";
  std::multiset<unsigned> statuses;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (waiting[i].revents == 0) clients[i].send(std::string(60'000, 'x'));
    statuses.insert(clients[i].receive().status);
  }
  EXPECT_GE(statuses.count(503), 1U);
  EXPECT_GE(statuses.count(400), 1U) << "what is held may go on";
  HttpClient next(server.ports.http);
  next.post("/v2/models/double/infer", kOne);
  EXPECT_EQ(next.receive().status, 200U);
}

TEST_F(HttpServer, RefusesABodyThatHasNoRoomBeforeItComes) {
  const RunningServer server(folder_, {.max_buffered = 1'000'000});
  HttpClient large(server.ports.http), waits(server.ports.http);
  large.send(head_of_body(1'000'001));
  const HttpClient::Answer answer = large.receive();
  EXPECT_EQ(answer.status, 503U) << "nothing of it has come";
  EXPECT_THAT(answer.body, HasSubstr("more than 1000000 bytes"));
  waits.send(
      "POST /v2/models/double/infer HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      "Content-Length: 1000001\r\n\r\n");
  EXPECT_EQ(waits.receive().status, 503U) << "instead of 100";
  HttpClient fits(server.ports.http);
  fits.send(head_of_body(999'999) + std::string(999'999, 'x'));
  EXPECT_EQ(fits.receive().status, 400U) << "it has room, and is read";
}

TEST_F(HttpServer, RefusesBeforeABodyForWhateverReason) {
  const RunningServer server(folder_, {.max_bytes = 1'000'000});
  const struct {
    const char* target;
    std::size_t size;
    unsigned status;
  } cases[] = {{"/v2/models/none/infer", 1000, 404},
               {"/v2/models/double/versions/7/infer", 1000, 404},
               {"/v2/models/double/infer", 1'000'001, 413}};
  for (const auto& c : cases) {
    HttpClient client(server.ports.http);
    client.send("POST " + std::string(c.target) +
                " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(c.size) + "\r\n\r\n");
    EXPECT_EQ(client.receive().status, c.status) << c.target;
  }
}

TEST_F(HttpServer, RefusesWhatWouldBeLateOnceItsJsonHasCome) {
  const RunningServer server(folder_, {});
  HttpClient warm(server.ports.http), running(server.ports.http), late(server.ports.http);
  warm.post("/v2/models/count/infer", R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[5000000]}]})");
  EXPECT_EQ(warm.receive().status, 200U);
  running.post("/v2/models/count/infer", kLongCountBody);
  server.wait_for_start("count");
  const std::string json =
      R"({"parameters":{"timeout":100000},"inputs":[{"name":"x","datatype":"FP32","shape":[500,2],)"
      R"("parameters":{"binary_data_size":4000}}]})";
  late.send(
      head_of_body(json.size() + 4000, "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n"));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  late.send(json);
  const auto [status, text, fields] = late.receive();
  EXPECT_EQ(status, 429U);
  EXPECT_THAT(text, HasSubstr("its time-out is"));
}

/// What others could take for another end of the body is refused, and ends the connection: what follows may be a part
/// of the body, and is never a request.
TEST_F(HttpServer, RefusesFramesThatOthersMayReadInAnotherWay) {
  const RunningServer server(folder_, {});
  const std::string inner = "GET /v2/models/SMUGGLED HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string fields :
       {"Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: identity\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: \x0b"
        "chunked\r\n",
        "Transfer-Encoding:\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 6\r\n", "Content-Length: +5\r\n",
        "Host: other\r\n", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"}) {
    HttpClient client(server.ports.http);
    client.send("POST /v2/models/double/infer HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n" + inner);
    EXPECT_EQ(client.receive().status, 400U) << fields;
    EXPECT_EQ(client.receive().body, "end of stream") << fields;
  }
  HttpClient old(server.ports.http);
  old.send("POST /v2/models/double/infer HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(old.receive().status, 400U) << "HTTP/1.0 knows no chunks";
  HttpClient good(server.ports.http);
  char size[16];
  std::snprintf(size, sizeof size, "%zx", kOne.size());
  good.send("POST /v2/models/double/infer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: CHUNKED\r\n\r\n" +
            std::string(size) + "\r\n" + std::string(kOne) + "\r\n0\r\n\r\n");
  EXPECT_EQ(good.receive().status, 200U);
}

/// The bodies are no gzip: what reads them answers 400.
TEST_F(HttpServer, TakesNothingOfABodyBeforeItsRequestIsLetIn) {
  server::ServiceOptions options = options_of(folder_);
  options.config.tenants = {{.name = "shop", .keys = {"key"}, .models = {"double"}}};
  const RunningServer server(options, {});
  const struct {
    const char *what, *line, *key;
    unsigned status;
  } cases[] = {{"without a key", "POST /v2/models/double/infer", "", 401},
               {"a model of others", "POST /v2/models/count/infer", "Authorization: Bearer key\r\n", 403},
               {"no such path", "POST /v2/nothing", "Authorization: Bearer key\r\n", 404},
               {"another method", "POST /v2/health/live", "", 405},
               {"model control", "POST /v2/repository/models/double/unload", "Authorization: Bearer key\r\n", 403},
               {"let in", "POST /v2/models/double/infer", "Authorization: Bearer key\r\n", 400}};
  for (const auto& c : cases) {
    HttpClient client(server.ports.http);
    const std::string body(1000, 'x');
    client.send(std::string(c.line) + " HTTP/1.1\r\nHost: localhost\r\n" + c.key +
                "Content-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n" + body);
    EXPECT_EQ(client.receive().status, c.status) << c.what;
    if (c.status == 400) continue;
    client.get("/v2/health/live");
    EXPECT_EQ(client.receive().status, 200U) << c.what << ": the body is dropped, and the connection goes on";
  }
  HttpClient get(server.ports.http);
  get.send("GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_THAT(get.receive().body, HasSubstr("a GET request has a body: expected none"));
}

TEST_F(HttpServer, RefusedRequestsWithoutABodyLeaveTheConnection) {
  const RunningServer server(folder_, {});
  HttpClient client(server.ports.http);
  for (const char* target : {"/v2/none", "/v2/models/none", "/v2/models/double/infer"}) {
    client.get(target);
    EXPECT_GE(client.receive().status, 404U) << target;
  }
  client.post("/v2/models/double/infer", kOne);
  EXPECT_EQ(client.receive().status, 200U);
}

// ---- places ----

TEST_F(HttpServer, AnIdleConnectionMakesPlaceForAnother) {
  const RunningServer server(folder_, {.max_connections = 4, .patience_s = 100'000});
  std::deque<HttpClient> idle;
  for (int i = 0; i < 4; ++i) {
    idle.emplace_back(server.ports.http).post("/v2/models/double/infer", kOne);
    EXPECT_EQ(idle.back().receive().status, 200U);
  }
  idle[0].post("/v2/models/double/infer", kOne);  // which is idle for less long than the second one now
  EXPECT_EQ(idle[0].receive().status, 200U);
  HttpClient next(server.ports.http);
  next.post("/v2/models/double/infer", kOne);
  EXPECT_EQ(next.receive().status, 200U);
  EXPECT_EQ(idle[1].receive().body, "end of stream") << "it was idle for longest";
  for (const std::size_t i : {0, 2, 3}) {
    idle[i].post("/v2/models/double/infer", kOne);
    EXPECT_EQ(idle[i].receive().status, 200U) << i;
  }
}

TEST_F(HttpServer, RequestsUnderWayKeepTheirPlaces) {
  const RunningServer server(folder_, {.max_connections = 2, .patience_s = 100'000});
  HttpClient running(server.ports.http), uploading(server.ports.http);
  running.post("/v2/models/count/infer", kLongCountBody);
  server.wait_for_start("count");
  uploading.send(head_of_body(kOne.size()));
  uploading.send(kOne.substr(0, 5));
  std::string why;
  for (int i = 0; i < 20 && why != "end of stream"; ++i) {  // until the header of the second one was read
    HttpClient next(server.ports.http);
    why = next.receive().body;
  }
  EXPECT_NE(why, "") << "there is no place";
  uploading.send(kOne.substr(5));
  running.close();
  const auto [status, body, fields] = uploading.receive();
  EXPECT_EQ(status, 200U) << body;
}

TEST_F(HttpServer, OfManyAddressesTheOneWithTheMostConnectionsMakesPlace) {
  const RunningServer server(folder_, {.max_connections = 4, .patience_s = 100'000});
  const auto from = [&](const char* address) {
    boost::asio::io_context& context = contexts_.emplace_back();
    boost::asio::ip::tcp::socket socket(context, {boost::asio::ip::make_address(address), 0});
    socket.connect({boost::asio::ip::address_v4::loopback(), server.ports.http});
    return socket;
  };
  const auto asks = [&](boost::asio::ip::tcp::socket& socket) {
    const std::string text = "GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n";
    boost::system::error_code error;
    boost::asio::write(socket, boost::asio::buffer(text), error);
    std::string answer;
    boost::asio::read_until(socket, boost::asio::dynamic_buffer(answer), "true}", error);
    return answer.starts_with("HTTP/1.1 200");
  };
  auto lonely = from("127.0.0.2");
  EXPECT_TRUE(asks(lonely));
  std::deque<boost::asio::ip::tcp::socket> many;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(asks(many.emplace_back(from("127.0.0.3"))));
  auto more = from("127.0.0.3"), other = from("127.0.0.4");
  EXPECT_TRUE(asks(more));
  EXPECT_TRUE(asks(other));
  EXPECT_TRUE(asks(lonely)) << "it has been idle for longest, and is the only one of its address";
  EXPECT_FALSE(asks(many[0]));
  EXPECT_FALSE(asks(many[1]));
  EXPECT_TRUE(asks(many[2]));
}

TEST_F(HttpServer, AnswersHeadAndOldClients) {
  const RunningServer server(folder_, {});
  HttpClient head(server.ports.http), old(server.ports.http);
  head.send(
      "HEAD /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\nGET /v2/health/live HTTP/1.1\r\nHost: "
      "localhost\r\n\r\n");
  const std::string text = head.text_up_to("{\"live\"");
  EXPECT_THAT(text, HasSubstr(" 405 "));
  EXPECT_THAT(text, HasSubstr("\r\n\r\nHTTP/1.1 200 OK\r\n")) << "the first answer has no body";
  old.send("GET /v2/health/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(old.text_up_to("\r\n\r\n"), HasSubstr("Connection: keep-alive"));
}

TEST_F(HttpServer, AnswersWhatHasArrivedBeforeItEnds) {
  RunningServer server(folder_, {});
  HttpClient idle(server.ports.http), running(server.ports.http);
  running.post("/v2/models/count/infer", R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[3000000]}]})");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  server.end();
  EXPECT_EQ(running.receive().status, 200U);
  EXPECT_EQ(idle.receive().status, 0U);
}

TEST_F(HttpServer, AddressesThatCannotBeUsedAreRefused) {
  server::Service service(options_of(folder_));
  EXPECT_THROW(server::serve(service, {.host = "nowhere"}, {}), api::Error);
}

}  // namespace
}  // namespace frazil::test
