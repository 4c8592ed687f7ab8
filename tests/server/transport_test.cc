// What requests come by: Unix sockets.
#include <sys/stat.h>
#include <sys/un.h>

#include "server/grpc_client.h"
#include "server/http_client.h"
#include "server/running.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;

class Transports : public testing::Test {
 protected:
  Transports() { folder_.add("double", kDouble); }
  static void expect_answer(HttpClient<>& client) {
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
               {text, "a file that is no socket lies there"},
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

}  // namespace
}  // namespace frazil::test
