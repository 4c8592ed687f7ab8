#include "bench/serve_client.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/serve_net.h"

namespace bench {
namespace {

/// HTTP/1.1 with one request at a time. Reads what this server sends: a length, no chunks.
class HttpClient final : public ServeConnection {
 public:
  HttpClient(std::uint16_t port, Answered answered) : ServeConnection(port, std::move(answered)) {}

  std::size_t free_streams() const override { return busy_ ? 0 : 1; }
  void send(std::string_view request, std::uint64_t tag) override {
    busy_ = true;
    tag_ = tag;
    write(request);
  }

 protected:
  void received(std::string_view bytes) override {
    if (head_left_) bytes = take_head(bytes);
    body_left_ -= std::min(body_left_, bytes.size());
    if (head_left_ || body_left_ > 0) return;
    head_left_ = true;
    head_.clear();
    busy_ = false;
    answered_(tag_, status_);
  }

 private:
  /// Returns what belongs to the body.
  std::string_view take_head(std::string_view bytes) {
    static constexpr std::string_view kEnd = "\r\n\r\n", kLength = "\r\nContent-Length: ";
    const std::size_t before = head_.size();
    head_ += bytes;
    const std::size_t end = head_.find(kEnd, before < 3 ? 0 : before - 3);
    if (end == std::string::npos) return {};
    head_left_ = false;
    const std::string_view head = std::string_view(head_).substr(0, end);
    const std::size_t length = head.find(kLength);
    if (!head.starts_with("HTTP/1.1 ") || length == std::string_view::npos) {
      throw std::runtime_error("the server's answer has no length: " + std::string(head));
    }
    std::from_chars(head.data() + 9, head.data() + 12, status_);
    std::from_chars(head.data() + length + kLength.size(), head.data() + head.size(), body_left_);
    return bytes.substr(end + kEnd.size() - before);
  }

  bool busy_ = false, head_left_ = true;
  std::uint64_t tag_ = 0;
  int status_ = 0;
  std::size_t body_left_ = 0;
  std::string head_;
};

/// The status of HTTP that our server means by one of gRPC.
int http_status_of(std::string_view grpc_status) {
  if (grpc_status == "0") return 200;
  if (grpc_status == "4") return 504;
  if (grpc_status == "8") return 429;
  if (grpc_status == "14") return 503;
  return grpc_status == "3" ? 400 : 500;
}

class GrpcClient final : public ServeConnection {
 public:
  GrpcClient(std::uint16_t port, std::size_t streams, Answered answered)
      : ServeConnection(port, std::move(answered)), most_(streams) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session* session = nullptr;
    nghttp2_session_client_new(&session, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    session_.reset(session);
    constexpr std::uint32_t kWindow = 1U << 24U;
    const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &window, 1);
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kWindow);
    pump();
  }

  std::size_t free_streams() const override { return most_ - streams_.size(); }
  void send(std::string_view request, std::uint64_t tag) override {
    static const auto header = [](std::string_view name, std::string_view value) {
      const auto bytes = [](std::string_view text) {
        return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
      };
      return nghttp2_nv{bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
    };
    static const nghttp2_nv headers[] = {header(":method", "POST"),
                                         header(":scheme", "http"),
                                         header(":path", "/inference.GRPCInferenceService/ModelInfer"),
                                         header(":authority", "localhost"),
                                         header("te", "trailers"),
                                         header("content-type", "application/grpc")};
    const nghttp2_data_provider body = {.source = {}, .read_callback = on_read};
    const std::int32_t id =
        nghttp2_submit_request(session_.get(), nullptr, headers, std::size(headers), &body, nullptr);
    if (id < 0) throw std::runtime_error(std::string("nghttp2: ") + nghttp2_strerror(id));
    streams_[id] = {.tag = tag, .request = request, .status = 500};
    pump();
  }

 protected:
  void received(std::string_view bytes) override {
    const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    const ssize_t used = nghttp2_session_mem_recv(session_.get(), data, bytes.size());
    if (used < 0) throw std::runtime_error(std::string("nghttp2: ") + nghttp2_strerror(static_cast<int>(used)));
    pump();
  }

 private:
  struct Stream {
    std::uint64_t tag;
    std::string_view request;  // what is still to be sent
    int status;
  };
  static GrpcClient& of(void* user) { return *static_cast<GrpcClient*>(user); }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                       const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    const std::string_view key(reinterpret_cast<const char*>(name), name_size);
    if (key != "grpc-status") return 0;
    of(user).streams_.at(frame->hd.stream_id).status =
        http_status_of({reinterpret_cast<const char*>(value), value_size});
    return 0;
  }
  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
    const auto node = of(user).streams_.extract(id);
    if (!node.empty()) of(user).answered_(node.mapped().tag, node.mapped().status);
    return 0;
  }
  static ssize_t on_read(nghttp2_session*, std::int32_t id, std::uint8_t* to, std::size_t most, std::uint32_t* flags,
                         nghttp2_data_source*, void* user) {
    std::string_view& left = of(user).streams_.at(id).request;
    const std::size_t size = left.copy(reinterpret_cast<char*>(to), most);
    left.remove_prefix(size);
    if (left.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }

  /// One write for all frames that there are.
  void pump() {
    const std::uint8_t* bytes = nullptr;
    ssize_t size = 0;
    frames_.clear();
    while ((size = nghttp2_session_mem_send(session_.get(), &bytes)) > 0) {
      frames_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    }
    write(frames_);
  }

  const std::size_t most_;
  std::unordered_map<std::int32_t, Stream> streams_;
  std::string frames_;
  std::unique_ptr<nghttp2_session, decltype(&nghttp2_session_del)> session_{nullptr, &nghttp2_session_del};
};

}  // namespace

ServeConnection::ServeConnection(std::uint16_t port, Answered answered)
    : answered_(std::move(answered)), socket_(connect_to(port)) {}

ServeConnection::~ServeConnection() { ::close(socket_); }

void ServeConnection::write(std::string_view bytes) {
  if (sent_ == unsent_.size()) {
    const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size > 0) bytes.remove_prefix(static_cast<std::size_t>(size));
    unsent_.clear();
    sent_ = 0;
  }
  unsent_ += bytes;
}

bool ServeConnection::flush() {
  if (sent_ == unsent_.size()) return true;
  const ssize_t size = ::send(socket_, unsent_.data() + sent_, unsent_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size > 0) sent_ += static_cast<std::size_t>(size);
  return sent_ == unsent_.size();
}

bool ServeConnection::receive() {
  static thread_local char buffer[256 * 1024];
  const ssize_t size = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  received({buffer, static_cast<std::size_t>(size)});
  return true;
}

std::unique_ptr<ServeConnection> ServeConnection::open(Protocol protocol, std::uint16_t port, std::size_t streams,
                                                       Answered answered) {
  if (protocol == Protocol::http) return std::make_unique<HttpClient>(port, std::move(answered));
  return std::make_unique<GrpcClient>(port, streams, std::move(answered));
}

}  // namespace bench
