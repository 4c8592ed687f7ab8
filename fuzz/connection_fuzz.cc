// Sends bytes to a connection as a client would. The first byte chooses: modulo 3 HTTP for models, HTTP for metrics or
// gRPC; divided by 3, behind how many bytes there is a pause. The connection answers in its protocol and ends when the
// client does.
#include <cstdlib>
#include <memory>

#include <boost/asio/generic/stream_protocol.hpp>
#include <frazil/model.h>
#include <sys/socket.h>
#include <unistd.h>

#include "require.h"
#include "server/grpc/grpc_server.h"
#include "server/http/http_connection.h"

namespace frazil::fuzz {
namespace {

enum class Kind : std::uint8_t { models, metrics, grpc };
constexpr std::size_t kKinds = 3;

server::Service& service() {
  static const std::unique_ptr<server::Service> made = [] {
    std::string folder = "/tmp/frazil-connection-fuzz.XXXXXX";
    require(::mkdtemp(folder.data()) != nullptr, "no folder {}", folder);
    const std::string model = folder + "/double.onnx";
    api::Model::from_text("graph g(%x: f32[N,2]) { %y = Add(%x, %x) return y = %y }").save(model);
    auto service = std::make_unique<server::Service>(
        server::ServiceOptions{.folder = folder, .run = {.tier = "0", .threads = 1}, .workers = 1});
    ::unlink(model.c_str());
    ::rmdir(folder.c_str());
    return service;
  }();
  return *made;
}

/// A connection and the client's end of it, both on this thread.
class Talk {
 public:
  explicit Talk(Kind kind) {
    int ends[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no sockets");
    client_ = ends[0];
    const boost::asio::generic::stream_protocol protocol(AF_UNIX, 0);
    server::Wire wire(server::Socket(transport_.context.get_executor(), protocol, ends[1]));
    switch (kind) {
      case Kind::models: server::serve_http(std::move(wire), transport_, service(), server::PortKind::models); break;
      case Kind::metrics: server::serve_http(std::move(wire), transport_, service(), server::PortKind::metrics); break;
      case Kind::grpc: server::serve_grpc(std::move(wire), transport_, service()); break;
    }
  }
  ~Talk() { ::close(client_); }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  void send(std::string_view bytes) {
    while (!bytes.empty() && !transport_.connections.empty()) {
      const ssize_t size = ::send(client_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (size > 0) bytes.remove_prefix(static_cast<std::size_t>(size));
      turn();
    }
  }
  /// Until there is nothing to do.
  void settle() {
    do turn();
    while (service().current_load().waiting > 0);
    turn();
  }
  std::string end() {
    ::shutdown(client_, SHUT_WR);
    while (!transport_.connections.empty()) turn();
    transport_.context.restart();
    transport_.context.run();
    receive();
    return answer_;
  }

 private:
  void turn() {
    transport_.context.restart();
    transport_.context.poll();
    receive();
  }
  void receive() {
    char bytes[4096];
    for (ssize_t size = 0; (size = ::recv(client_, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;) {
      answer_.append(bytes, static_cast<std::size_t>(size));
    }
  }

  server::ServerOptions options_{.max_bytes = 1 << 16, .compress_from = 64};
  server::TransportTotals totals_;
  server::Transport transport_{options_, totals_};
  int client_ = -1;
  std::string answer_;
};

void talk(Kind kind, std::string_view bytes, std::size_t cut) {
  Talk talk(kind);
  talk.send(bytes.substr(0, cut));
  talk.settle();
  talk.send(bytes.substr(std::min(cut, bytes.size())));
  talk.settle();
  const std::string answer = talk.end();
  constexpr std::string_view kSettings("\x04", 1);  // the first frame
  const bool good = kind == Kind::grpc ? answer.size() > 9 && answer.substr(3, 1) == kSettings
                                       : answer.empty() || answer.starts_with("HTTP/1.1 ");
  require(good, "an answer that is none of its protocol: {}", answer.substr(0, 100));
}

}  // namespace
}  // namespace frazil::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace frazil::fuzz;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  talk(static_cast<Kind>(data[0] % kKinds), bytes, data[0] / kKinds);
  return 0;
}
