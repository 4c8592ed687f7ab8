// What requests come by: Unix sockets, TLS.
#include <csignal>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "server/certificates.h"
#include "server/grpc_client.h"
#include "server/grpc_encode.h"
#include "server/http_test_client.h"
#include "server/running.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;

class Transports : public testing::Test {
 protected:
  Transports() { folder_.add("double", kDouble); }
  static void expect_answer(HttpClient& client) {
    client.post("/v2/models/double/infer", kOne);
    EXPECT_THAT(client.receive().body, HasSubstr(kOneAnswer));
  }
  Folder folder_;
  const TempFolder files_;
};

// ---- Unix sockets ----

TEST_F(Transports, UnixSocketsAnswerBesidePorts) {
  const std::string http = files_ / "http", grpc = files_ / "grpc";
  {
    const RunningServer server(folder_, {.http_socket = http, .grpc_socket = grpc});
    HttpClient by_path(http), by_port(server.ports.http);
    expect_answer(by_path);
    expect_answer(by_port);
    GrpcClient client(grpc);
    EXPECT_EQ(client.wait(client.call("ServerLive", "")).code(), "0");
    for (const std::string& file : {http, grpc}) {
      struct stat status = {};
      ASSERT_EQ(::stat(file.c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & 0777U, 0660U);
    }
  }
  EXPECT_FALSE(std::filesystem::exists(http));
  EXPECT_FALSE(std::filesystem::exists(grpc));
}

TEST_F(Transports, ThePathOfAServerThatEndsIsFreeBeforeItsLastAnswer) {
  folder_.add("count", kCount);
  const std::string path = files_ / "http";
  RunningServer ending(folder_, {.http_socket = path});
  HttpClient running(path);
  running.post("/v2/models/count/infer", R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[5000000]}]})");
  ending.wait_for_start("count");
  ending.begin_end();
  while (std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(running.receive().status, 200U);
  ending.end();
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// The file of a socket that nobody listens at any more.
void leave_socket(const std::string& path) {
  boost::asio::io_context context;
  boost::asio::local::stream_protocol::acceptor(context, path);
}

TEST_F(Transports, TheSocketOfAServerThatIsGoneIsReplaced) {
  const std::string path = files_ / "http";
  leave_socket(path);
  ASSERT_TRUE(std::filesystem::exists(path));
  const RunningServer server(folder_, {.http_socket = path});
  HttpClient client(path);
  expect_answer(client);
}

TEST_F(Transports, OtherPathsAreRefused) {
  const std::string live = files_ / "live", text = files_ / "text";
  const RunningServer server(folder_, {.http_socket = live});
  std::ofstream(text) << "precious";
  const struct {
    std::string path, why;
  } cases[] = {{live, "another server listens there"},
               {text, "the file exists and is not a socket"},
               {files_ / "none/socket", "No such file or directory"},
               {std::string(200, 'x'), "expected a path of at most 107 bytes"}};
  server::Service service(options_of(folder_));
  for (const auto& c : cases) {
    const server::ServerOptions options{.http_port = 0, .grpc_port = 0, .metrics_port = 0, .grpc_socket = c.path};
    try {
      server::serve(service, options, [](const server::Ports&) { FAIL() << "it must not serve"; });
    } catch (const api::Error& error) {
      EXPECT_EQ(error.code(), api::Code::bad_input);
      EXPECT_EQ(std::string(error.what()).find(c.path), 0U) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(c.why));
    }
  }
  EXPECT_EQ(content_of(text), "precious");
  HttpClient client(live);
  expect_answer(client);
}

// ---- TLS ----

namespace ssl = boost::asio::ssl;
using TlsHttpClient = BasicHttpClient<TlsSocket>;
using TlsGrpcClient = BasicGrpcClient<TlsSocket>;

constexpr const char *kHttp = "\x08http/1.1", *kHttp2 = "\x02h2";

class OverTls : public Transports {
 protected:
  server::ServerOptions options() const {
    return {.tls = {.certificate = files_of_server_.certificate, .key = files_of_server_.key}};
  }
  server::ServerOptions options_with_clients() const {
    server::ServerOptions made = options();
    made.tls.client_ca = authority_.certificate();
    return made;
  }
  /// A client that believes the authority, and may have a certificate of its own.
  ssl::context client(const Authority::Files& own = {}) const {
    ssl::context made(ssl::context::tls_client);
    made.load_verify_file(authority_.certificate());
    made.set_verify_mode(ssl::verify_peer);
    if (!own.certificate.empty()) {
      made.use_certificate_chain_file(own.certificate);
      made.use_private_key_file(own.key, ssl::context::pem);
    }
    return made;
  }
  /// Whether a server lets a client in: in TLS 1.3 he learns that with the first answer.
  static bool lets_in(std::uint16_t port, ssl::context tls) {
    try {
      TlsHttpClient client(port, tls);
      client.get("/v2/health/live");
      return client.receive().status == 200;
    } catch (const boost::system::system_error&) {
      return false;
    }
  }

  const Authority authority_{"authority"};
  const Authority::Files files_of_server_ = authority_.issue("server", "DNS:localhost,IP:127.0.0.1");
};

TEST_F(OverTls, HttpIsAnswered) {
  const RunningServer server(folder_, options());
  ssl::context tls = client();
  TlsHttpClient client(server.ports.http, tls, kHttp);
  EXPECT_EQ(SSL_version(client.stream().native_handle()), TLS1_3_VERSION);
  for (int i = 0; i < 3; ++i) {
    client.post("/v2/models/double/infer", kOne);
    EXPECT_THAT(client.receive().body, HasSubstr(kOneAnswer));
  }
  TlsHttpClient metrics(server.ports.metrics, tls);
  metrics.get("/metrics");
  EXPECT_THAT(metrics.receive().body, HasSubstr("frazil_requests_total"));
}

TEST_F(OverTls, GrpcIsAnswered) {
  const RunningServer server(folder_, options());
  ssl::context tls = client();
  TlsGrpcClient client(server.ports.grpc, tls, kHttp2);
  EXPECT_EQ(client.wait(client.call("ServerLive", "")).code(), "0");
}

TEST_F(OverTls, LongMessagesAreWhole) {
  const RunningServer server(folder_, options());
  ssl::context tls = client();
  const std::size_t rows = 300'000;
  const std::string shape = std::to_string(rows), size = std::to_string(rows * 8);
  const std::string json = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[)" + shape +
                           R"(,2],"parameters":{"binary_data_size":)" + size +
                           R"(}}],"parameters":{"binary_data_output":true}})";
  std::vector<float> values(rows * 2);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  TlsHttpClient client(server.ports.http, tls);
  client.post("/v2/models/double/infer",
              json + std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)),
              "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n");
  const std::string body = client.receive().body;
  ASSERT_GT(body.size(), values.size() * sizeof(float));
  for (float& value : values) value *= 2;
  EXPECT_EQ(body.substr(body.size() - values.size() * sizeof(float)),
            std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

TEST_F(OverTls, TheLiveViewTellsItsEvents) {
  const RunningServer server(folder_, options());
  ssl::context tls = client();
  TlsHttpClient client(server.ports.http, tls);
  client.get("/v2/live/events?every_ms=100");
  EXPECT_THAT(client.text_up_to("\r\n\r\n"), HasSubstr("text/event-stream"));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(client.text_up_to("\n\n"), HasSubstr("data: {"));
}

TEST_F(OverTls, AClientThatGoesEndsItsRun) {
  folder_.add("count", kCount);
  const RunningServer server(folder_, options());
  ssl::context tls = client();
  TlsHttpClient client(server.ports.http, tls);
  client.post("/v2/models/count/infer",
              R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[2000000000]}]})");
  server.wait_for_start("count");
  client.stream().async_shutdown([](boost::system::error_code) {});
  client.poll();
  server.wait_for_failures("count", 1);
}

TEST_F(OverTls, TheLastAnswerEndsAsTlsWantsIt) {
  const RunningServer server(folder_, options());
  ssl::context tls = client();
  TlsHttpClient client(server.ports.http, tls);
  client.get("/v2/health/live", "Connection: close\r\n");
  EXPECT_EQ(client.receive().status, 200U);
  EXPECT_EQ(client.receive().body, "end of stream") << "and is not cut off";
}

TEST_F(OverTls, ProtocolsAreThoseOfThePort) {
  const RunningServer server(folder_, options());
  const auto agreed = [&](std::uint16_t port, const std::string& offered) -> std::string {
    ssl::context tls = client();
    try {
      TlsHttpClient client(port, tls, offered);
      const unsigned char* name = nullptr;
      unsigned size = 0;
      SSL_get0_alpn_selected(client.stream().native_handle(), &name, &size);
      return {reinterpret_cast<const char*>(name), size};
    } catch (const boost::system::system_error& error) {
      return error.code().message();
    }
  };
  const std::string both = std::string(kHttp2) + kHttp, none = "tlsv1 alert no application protocol";
  EXPECT_EQ(agreed(server.ports.http, both), "http/1.1");
  EXPECT_EQ(agreed(server.ports.grpc, both), "h2");
  EXPECT_EQ(agreed(server.ports.http, ""), "") << "a client need not name any";
  EXPECT_EQ(agreed(server.ports.http, kHttp2), none);
  EXPECT_EQ(agreed(server.ports.grpc, kHttp), none);
}

TEST_F(OverTls, OldVersionsAreRefused) {
  const RunningServer server(folder_, options());
  for (const auto& [version, good] : {std::pair{TLS1_1_VERSION, false}, {TLS1_2_VERSION, true}}) {
    ssl::context tls = client();
    SSL_CTX_set_security_level(tls.native_handle(), 0);
    SSL_CTX_set_min_proto_version(tls.native_handle(), version);
    SSL_CTX_set_max_proto_version(tls.native_handle(), version);
    EXPECT_EQ(lets_in(server.ports.http, std::move(tls)), good) << version;
  }
}

TEST_F(OverTls, WhatIsNoTlsIsClosed) {
  const RunningServer server(folder_, options());
  HttpClient client(server.ports.http);
  client.get("/v2");
  EXPECT_EQ(client.receive().status, 0U);
  EXPECT_TRUE(lets_in(server.ports.http, this->client()));
}

TEST_F(OverTls, SlowHandshakesAreGivenUp) {
  server::ServerOptions impatient = options();
  impatient.patience_s = 0.05;
  const RunningServer server(folder_, impatient);
  HttpClient client(server.ports.http);
  client.send("\x16\x03\x01");
  EXPECT_EQ(client.receive().status, 0U);
}

TEST_F(OverTls, ClientsNeedACertificateWhereTheirAuthorityIsGiven) {
  const RunningServer server(folder_, options_with_clients());
  const Authority other("other");
  EXPECT_TRUE(lets_in(server.ports.http, client(authority_.issue("somebody"))));
  EXPECT_FALSE(lets_in(server.ports.http, client()));
  EXPECT_FALSE(lets_in(server.ports.http, client(other.issue("somebody"))));
  EXPECT_FALSE(lets_in(server.ports.metrics, client(other.issue("somebody"))));
}

TEST_F(OverTls, ProbesNeedNoCertificate) {
  const RunningServer server(folder_, options_with_clients());
  ssl::context tls = client();
  TlsHttpClient probe(server.ports.metrics, tls);
  const std::pair<const char*, unsigned> cases[] = {{"/v2/health/live", 200},
                                                    {"/v2/health/ready", 200},
                                                    {"/metrics", 200},
                                                    {"/v2/models/double", 404},
                                                    {"/v2/repository/index", 404}};
  for (const auto& [path, status] : cases) {
    probe.get(path);
    EXPECT_EQ(probe.receive().status, status) << path;
  }
  probe.post("/v2/models/double/infer", kOne);
  EXPECT_EQ(probe.receive().status, 404U);
}

TEST_F(OverTls, TenantsAreKnownByTheirCertificates) {
  server::ServiceOptions with_tenants = options_of(folder_);
  with_tenants.config.tenants = {{.name = "shop", .certificates = {"shop.example"}, .models = {"double"}},
                                 {.name = "bank", .certificates = {"spiffe://example/bank"}, .models = {"none"}},
                                 {.name = "named", .certificates = {"by name"}}};
  const RunningServer server(std::move(with_tenants), options_with_clients());
  const struct {
    Authority::Files client;
    unsigned status;
    const char* code;
  } cases[] = {{authority_.issue("a", "DNS:other.example,DNS:shop.example"), 200, "0"},
               {authority_.issue("b", "URI:spiffe://example/bank"), 403, "7"},
               {authority_.issue("by name"), 200, "0"},
               {authority_.issue("d", "DNS:nobody.example"), 401, "16"}};
  for (const auto& c : cases) {
    ssl::context tls = client(c.client);
    TlsHttpClient http(server.ports.http, tls);
    http.post("/v2/models/double/infer", kOne);
    EXPECT_EQ(http.receive().status, c.status) << c.client.certificate;
    http.get("/v2/live/events");
    EXPECT_THAT(http.text_up_to("\r\n"), HasSubstr(c.status == 401 ? " 401 " : " 200 "));
    TlsGrpcClient grpc(server.ports.grpc, tls);
    const std::string message = field(1, "double") + input("x", "FP32", {1, 2}) + field(7, raw<float>({1, 2}));
    EXPECT_EQ(grpc.wait(grpc.call("ModelInfer", message)).code(), c.code) << c.client.certificate;
  }
}

TEST_F(OverTls, UnixSocketsStayPlain) {
  server::ServerOptions with_socket = options();
  with_socket.http_socket = files_ / "http";
  const RunningServer server(folder_, with_socket);
  HttpClient client(with_socket.http_socket);
  expect_answer(client);
}

TEST_F(OverTls, CertificatesAreReadAgainOnASignal) {
  std::promise<std::string> told;
  server::ServerOptions notifying = options();
  notifying.notify = [&](const server::Notice& notice) {
    if (notice.level == server::Notice::Level::warning) told.set_value(notice.text);
  };
  const RunningServer server(folder_, notifying);
  const auto serial = [&] {
    ssl::context tls = client();
    TlsHttpClient client(server.ports.http, tls);
    return ASN1_INTEGER_get(X509_get0_serialNumber(SSL_get0_peer_certificate(client.stream().native_handle())));
  };
  ssl::context tls = client();
  TlsHttpClient before(server.ports.http, tls);
  const long first = serial();
  authority_.issue("server", "DNS:localhost");
  std::raise(SIGHUP);
  while (serial() == first) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const long second = serial();
  before.get("/v2/health/live");
  EXPECT_EQ(before.receive().status, 200U) << "connections go on";
  std::ofstream(files_of_server_.certificate) << "no certificate";
  std::raise(SIGHUP);
  EXPECT_THAT(told.get_future().get(), HasSubstr("--tls-certificate " + files_of_server_.certificate));
  EXPECT_EQ(serial(), second);
}

TEST_F(OverTls, FilesThatCannotBeUsedAreRefused) {
  const std::string good = files_of_server_.certificate, key = files_of_server_.key, text = files_ / "text",
                    other = authority_.issue("other").key, secret = authority_.key_with_password();
  std::ofstream(text) << "text";
  const struct {
    server::TlsOptions tls;
    std::string what;
  } cases[] = {{{.certificate = files_ / "none", .key = key}, "--tls-certificate " + std::string(files_ / "none")},
               {{.certificate = text, .key = key}, "--tls-certificate " + text},
               {{.certificate = good, .key = text}, "--tls-key " + text},
               {{.certificate = good, .key = other}, "--tls-key " + other},
               {{.certificate = good, .key = secret}, "--tls-key " + secret},
               {{.certificate = good, .key = key, .client_ca = text}, "--tls-client-ca " + text}};
  server::Service service(options_of(folder_));
  for (const auto& c : cases) {
    const server::ServerOptions options{.http_port = 0, .grpc_port = 0, .metrics_port = 0, .tls = c.tls};
    try {
      server::serve(service, options, [](const server::Ports&) { FAIL() << "it must not serve"; });
    } catch (const api::Error& error) {
      EXPECT_EQ(error.code(), api::Code::bad_input);
      EXPECT_EQ(std::string(error.what()).find(c.what), 0U) << error.what();
    }
  }
}

// ---- other clients ----

class OthersOverTls : public OverTls {
 protected:
  static bool succeeds(const std::string& command) { return std::system(command.c_str()) == 0; }
  void expect_success(const std::string& command) const {
    const std::string out = files_ / "out";
    EXPECT_TRUE(succeeds(command + " >" + out + " 2>&1")) << content_of(out);
  }
};

TEST_F(OthersOverTls, Python) {
  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    if (!succeeds(python + " -c 'import grpc, google.protobuf' 2>/dev/null")) continue;
    const RunningServer server(folder_, options_with_clients());
    const Authority::Files own = authority_.issue("somebody");
    const std::string script = source_dir() / "tests/server/transport_clients/client.py";
    return expect_success("timeout 120 " + python + " -B " + script + " " + std::to_string(server.ports.http) + " " +
                          std::to_string(server.ports.grpc) + " " + authority_.certificate() + " " + own.certificate +
                          " " + own.key);
  }
  GTEST_SKIP() << "no gRPC for Python: install python3-grpcio and python3-protobuf";
}

TEST_F(OthersOverTls, Curl) {
  if (!succeeds("curl --version >/dev/null 2>&1")) GTEST_SKIP() << "no curl";
  const std::string socket = files_ / "http";
  server::ServerOptions with_socket = options_with_clients();
  with_socket.http_socket = socket;
  const RunningServer server(folder_, with_socket);
  const Authority::Files own = authority_.issue("somebody");
  const std::string url = "https://localhost:" + std::to_string(server.ports.http) + "/v2/health/ready",
                    get = "timeout 60 curl --fail --silent --show-error --cacert " + authority_.certificate() + " ";
  expect_success(get + "--cert " + own.certificate + " --key " + own.key + " " + url + " " + url);
  EXPECT_FALSE(succeeds(get + url + " >/dev/null 2>&1")) << "without a certificate";
  expect_success("timeout 60 curl --fail --silent --unix-socket " + socket + " http://localhost/v2/health/ready");
}

// ---- several threads ----

/// Connections are spread over threads.
class IoThreads : public testing::TestWithParam<unsigned> {
 protected:
  IoThreads() { folder_.add("double", kDouble); }
  static std::size_t threads() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
  }
  Folder folder_;
};

TEST_P(IoThreads, AnswerAllClientsAndEndTogether) {
  if (std::getenv("FRAZIL_TEST_IO_THREADS") != nullptr) GTEST_SKIP() << "the number of threads is given";
  const auto usual = [&] {
    const RunningServer one(options_of(folder_), {.io_threads = 1});
    return threads();
  }();
  const std::size_t before = threads();
  std::optional<RunningServer> running(std::in_place, options_of(folder_),
                                       server::ServerOptions{.io_threads = GetParam()});
  RunningServer& server = *running;
  RunningServer::wait_until([&] { return threads() == usual + GetParam() - 1; });  // they start after it listens
  std::atomic<unsigned> good = 0;
  constexpr unsigned kClients = 12, kRequests = 40;
  {
    std::vector<std::jthread> clients;
    for (unsigned i = 0; i < kClients; ++i) {
      clients.emplace_back([&, grpc = i % 3 == 0] {
        if (grpc) {
          GrpcClient client(server.ports.grpc);
          const std::string request = field(1, "double") + input("x", "FP32", {1, 2}) + field(7, raw<float>({1, 2}));
          for (unsigned k = 0; k < kRequests; ++k) {
            good += static_cast<unsigned>(client.wait(client.call("ModelInfer", request)).code() == "0");
          }
          return;
        }
        HttpClient client(server.port);
        for (unsigned k = 0; k < kRequests; ++k) {
          client.post("/v2/models/double/infer", kOne);
          good += static_cast<unsigned>(client.receive().status == 200U);
        }
      });
    }
  }
  EXPECT_EQ(good, kClients * kRequests);
  HttpClient idle(server.port);
  running.reset();
  EXPECT_EQ(threads(), before) << "each thread has ended";
}

TEST_P(IoThreads, ShareTheLimitOfConnections) {
  RunningServer server(options_of(folder_), {.io_threads = GetParam(), .max_connections = 6});
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server.port));
    clients.back()->get("/v2/health/live");
    EXPECT_EQ(clients.back()->receive().status, 200U);
  }
  HttpClient next(server.port);
  next.get("/v2/health/live");
  EXPECT_EQ(next.receive().status, 200U) << "an idle connection has made room";
  RunningServer::wait_until([&] { return server.service.traffic().open(server::Protocol::http) == 6; });
}

INSTANTIATE_TEST_SUITE_P(OneOrMore, IoThreads, testing::Values(1U, 3U));

}  // namespace
}  // namespace frazil::test
