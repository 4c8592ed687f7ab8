// The client by which steps and exports ask other servers: libcurl's options, proxies, limits and faults.
#include "server/net/http_client.h"

#include <cstdlib>
#include <future>

#include <gmock/gmock.h>

#include "server/certificates.h"
#include "server/core/url_parts.h"
#include "server/http_test_client.h"
#include "server/other_server.h"
#include "server/running.h"

namespace frazil::test {
namespace {

using std::literals::operator""ms;
using std::literals::operator""s;
using server::Clock;
using server::HttpAnswer;
using server::HttpFault;
using server::HttpUrl;
using server::UrlParts;
using testing::HasSubstr;
using Kind = HttpFault::Kind;

/// An environment variable for the life of the object.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// The fault of a request, or its status.
std::string result_of(server::HttpClient& client, server::ClientRequest request = {.body = "{}"}) try {
  return std::to_string(client.post_and_wait(std::move(request), Clock::now() + 5s).status);
} catch (const HttpFault& fault) {
  return std::string(fault.what()) + " | " + fault.detail();
}
std::string result_of(const std::string& url, server::HttpClientOptions options = {}) {
  server::HttpClient client(HttpUrl::parse(url), std::move(options));
  return result_of(client);
}

TEST(HttpUrls, AreRead) {
  const auto shown = [](const std::string& text) { return HttpUrl::parse(text).shown; };
  EXPECT_EQ(shown("http://host"), "http://host/");
  EXPECT_EQ(shown("https://10.0.0.1:8000/v2/models/m/infer?token=b"), "https://10.0.0.1:8000/v2/models/m/infer");
  EXPECT_EQ(shown("http://user:word@[::1]:8000/"), "http://[::1]:8000/");
  for (const char* bad : {"", "host:80", "ftp://host/", "file:///etc/passwd", "http://", "http://:80", "http://h:0",
                          "http://h:x/", "http://h:99999999999999999999/", "http://h/a b", "http://h/\r\nX: y",
                          "http://a]", "http://[::1", "http://[::1]]:1/"}) {
    EXPECT_THROW(HttpUrl::parse(bad), std::invalid_argument) << bad;
  }
  try {
    HttpUrl::parse("ftp://user:secret@host/");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("secret")));
  }
}

TEST(HttpUrls, HaveParts) {
  const auto parts = UrlParts::parse("REDISS://us%65r:p%40ss:word@[::1]:6380/2?x=y");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->scheme + " " + parts->user + " " + parts->password + " " + parts->host + " " + parts->port + " " +
                parts->path,
            "rediss user p@ss:word [::1] 6380 /2");
  EXPECT_EQ(UrlParts::parse("redis://h")->port, "");
  EXPECT_FALSE(UrlParts::parse("h:1"));
}

TEST(HttpClients, KeepAConnection) {
  const OtherServer other([](const std::string&) { return answered("{}"); });
  server::HttpClient client(HttpUrl::parse(other.url()));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(result_of(client), "200");
  EXPECT_EQ(other.connections, 1);
}

TEST(HttpClients, SendCredentialsOfTheUrlAndShowNone) {
  std::string request;
  const OtherServer other([&](const std::string& text) {
    request = text;
    return answered("{}");
  });
  EXPECT_EQ(result_of("http://user:pa%20ss@" + other.address() + "/"), "200");
  EXPECT_THAT(request, HasSubstr("\r\nAuthorization: Basic dXNlcjpwYSBzcw==\r\n"));
  EXPECT_THAT(result_of("http://user:word@127.0.0.1:1/a?token=b"),
              testing::AllOf(HasSubstr("cannot be reached: Connection refused | http://127.0.0.1:1/a: "),
                             testing::Not(HasSubstr("word")), testing::Not(HasSubstr("token"))));
}

TEST(HttpClients, SendLongBodiesWithoutWaiting) {
  std::string head;
  const OtherServer other([&](const std::string& text) {
    head = text.substr(0, text.find("\r\n\r\n"));
    return answered("{}");
  });
  server::HttpClient client(HttpUrl::parse(other.url()));
  const auto began = Clock::now();
  EXPECT_EQ(result_of(client, {.body = std::string(3'000'000, ' ')}), "200");
  EXPECT_LT(Clock::now() - began, 900ms) << "libcurl waits for a second if it expects 100 Continue";
  EXPECT_THAT(head, testing::Not(HasSubstr("Expect")));
}

TEST(HttpClients, LimitAnswers) {
  const std::string chunk = "400\r\n" + std::string(1024, 'x') + "\r\n";
  const struct {
    std::string answer, result;
  } cases[] = {
      {answered(std::string(1000, 'x')), "200"},
      {answered(std::string(1001, 'x')), "the other server's answer has more than 1000 bytes"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk,
       "the other server's answer has more than 1000 bytes"},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(1 << 20, 'x') + "\r\n\r\n", "the other server's answer cannot be read"},
      {"HTTP/1.1 200 OK\r\n\r\n" + std::string(999, 'x'), "200"}};
  for (const auto& c : cases) {
    const bool closes = !c.answer.contains("Content-Length") && !c.answer.contains("chunked");
    const OtherServer other([&](const std::string&) { return c.answer; }, closes);
    EXPECT_THAT(result_of(other.url(), {.max_bytes = 1000}), testing::StartsWith(c.result)) << c.answer.substr(0, 60);
  }
}

TEST(HttpClients, EndAtTheirDeadlineOrWhenTheyAreCancelled) {
  const OtherServer other([](const std::string&) { return "wait"; });
  server::HttpClient client(HttpUrl::parse(other.url()));
  constexpr int kCount = 100;
  std::atomic<int> late = 0, cancelled = 0;
  std::vector<std::shared_ptr<server::HttpClient::Exchange>> all;
  for (int i = 0; i < kCount; ++i) {
    const bool waits = i % 2 == 0;
    all.push_back(client.post({.body = "{}"}, Clock::now() + (waits ? 100ms : 60'000ms), [&](const auto& result) {
      ASSERT_FALSE(result);
      late += result.error().kind() == Kind::late ? 1 : 0;
      cancelled += result.error().kind() == Kind::cancelled ? 1 : 0;
    }));
    all.back()->start();
  }
  RunningServer::wait_until([&] { return late == kCount / 2; });
  for (const auto& exchange : all) exchange->cancel();
  RunningServer::wait_until([&] { return cancelled == kCount / 2; });
  RunningServer::wait_until([&] { return other.left == other.connections; });
  const auto before = client.post({}, Clock::now() + 60s, [&](const auto&) { ++cancelled; });
  before->cancel();
  before->start();
  RunningServer::wait_until([&] { return cancelled == kCount / 2 + 1; });
}

TEST(HttpClients, DropWhatIsPendingWhenTheyEnd) {
  const OtherServer other([](const std::string&) { return "wait"; });
  {
    server::HttpClient client(HttpUrl::parse(other.url()));
    client.post({}, Clock::now() + 60s, [](const auto&) { ADD_FAILURE(); })->start();
    RunningServer::wait_until([&] { return other.connections == 1; });
  }
  RunningServer::wait_until([&] { return other.left == 1; });
}

TEST(HttpClients, UseTheProxyOfTheEnvironment) {
  std::string request;
  const OtherServer proxy([&](const std::string& text) {
    request = text;
    return answered("{}");
  });
  const Variable http("http_proxy", "http://user:word@" + proxy.address()), none("no_proxy", "127.0.0.1,.internal");
  EXPECT_EQ(result_of("http://elsewhere.invalid:81/a"), "200");
  EXPECT_THAT(request, testing::StartsWith("POST http://elsewhere.invalid:81/a HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nProxy-Authorization: Basic "));
  EXPECT_THAT(result_of("http://a.internal:81/"), HasSubstr("cannot be reached")) << "not by the proxy";
  const OtherServer other([](const std::string&) { return answered("{}"); });
  const int before = proxy.connections;
  EXPECT_EQ(result_of(other.url()), "200");
  EXPECT_EQ(proxy.connections, before);
  const Variable gone("http_proxy", "http://user:word@127.0.0.1:1");
  EXPECT_THAT(result_of("http://elsewhere.invalid:81/a"),
              testing::AllOf(HasSubstr("cannot be reached: Connection refused"), testing::Not(HasSubstr("word"))));
}

/// A proxy that connects its clients to where they ask, one after the other.
class TunnelProxy {
 public:
  TunnelProxy() : acceptor_(context_, {boost::asio::ip::address_v4::loopback(), 0}) {
    thread_ = std::thread([this] { serve(); });
  }
  ~TunnelProxy() {
    ending_ = true;
    boost::system::error_code ignored;
    boost::asio::ip::tcp::socket(context_).connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }
  std::atomic<int> tunnels = 0;

 private:
  using Tcp = boost::asio::ip::tcp;
  void serve() {
    for (;;) {
      Tcp::socket client = acceptor_.accept();
      if (ending_) return;
      std::string head;
      boost::asio::read_until(client, boost::asio::dynamic_buffer(head), "\r\n\r\n");
      const std::size_t colon = head.find(':');
      if (!head.starts_with("CONNECT 127.0.0.1:")) continue;
      Tcp::socket server(context_);
      const auto port = static_cast<std::uint16_t>(std::stoul(head.substr(colon + 1)));
      server.connect({boost::asio::ip::address_v4::loopback(), port});
      boost::asio::write(client, boost::asio::buffer(std::string("HTTP/1.1 200 OK\r\n\r\n")));
      ++tunnels;
      std::thread back([&] { pump(server, client); });
      pump(client, server);
      back.join();
    }
  }
  static void pump(Tcp::socket& from, Tcp::socket& to) {
    boost::system::error_code error;
    std::array<char, 4096> bytes;
    for (;;) {
      const std::size_t got = from.read_some(boost::asio::buffer(bytes), error);
      if (error) break;
      boost::asio::write(to, boost::asio::buffer(bytes, got), error);
    }
    to.shutdown(Tcp::socket::shutdown_send, error);
  }

  boost::asio::io_context context_;
  Tcp::acceptor acceptor_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

TEST(HttpClients, ReachTlsServersThroughAProxy) {
  Folder models;
  models.add("double", kDouble);
  const Authority authority("ours");
  const auto files = authority.issue("server", "IP:127.0.0.1");
  const RunningServer other(models, {.tls = {.certificate = files.certificate, .key = files.key}});
  const std::string url = "https://127.0.0.1:" + std::to_string(other.ports.http) + "/v2/models/double/infer";
  const TunnelProxy proxy;
  const auto ask = [&] {
    server::HttpClient client(HttpUrl::parse(url), {.tls = {.ca = authority.certificate()}});
    return result_of(client, {.body = std::string(kOne)});
  };
  {
    const Variable https("https_proxy", proxy.url());
    EXPECT_EQ(ask(), "200");
    EXPECT_EQ(proxy.tunnels, 1);
    const Variable none("no_proxy", "127.0.0.1");
    EXPECT_EQ(ask(), "200");
  }
  EXPECT_EQ(ask(), "200");
  EXPECT_EQ(proxy.tunnels, 1);
}

}  // namespace
}  // namespace frazil::test
