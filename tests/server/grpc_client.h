#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/write.hpp>
#include <nghttp2/nghttp2.h>

#include "server/client_socket.h"

// A client of gRPC that does what it is told, also what a proper one would not.
namespace frazil::test {

constexpr std::string_view kModelInfer = "/inference.GRPCInferenceService/ModelInfer",
                           kModelStreamInfer = "/inference.GRPCInferenceService/ModelStreamInfer";

using HeaderList = std::vector<std::pair<std::string, std::string>>;

/// A message as gRPC frames it; `flag` 1 calls it compressed.
inline std::string framed(std::string_view message, char flag = 0) {
  const std::size_t size = message.size();
  std::string bytes{flag, static_cast<char>(size >> 24U), static_cast<char>(size >> 16U), static_cast<char>(size >> 8U),
                    static_cast<char>(size)};
  return bytes += message;
}

/// `Stream` is made of a ClientSocket and what else it needs.
template <class Stream = ClientSocket>
class BasicGrpcClient {
 public:
  /// What has come for a stream.
  struct Answer {
    std::map<std::string, std::string> headers;  ///< with trailers
    std::string data;
    bool closed = false;
    std::uint32_t error = 0;  ///< of RST_STREAM
    std::string code() const { return headers.contains("grpc-status") ? headers.at("grpc-status") : "none"; }
    std::string text() const { return headers.contains("grpc-message") ? headers.at("grpc-message") : ""; }
  };

  /// At a port, or the path of a Unix socket.
  template <class Where, class... Arguments>
  explicit BasicGrpcClient(const Where& where, Arguments&&... arguments)
      : stream_(connected(context_, where), std::forward<Arguments>(arguments)...),
        session_(nullptr, &nghttp2_session_del) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session* made = nullptr;
    nghttp2_session_client_new(&made, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    session_.reset(made);
    nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  BasicGrpcClient(const BasicGrpcClient&) = delete;
  BasicGrpcClient& operator=(const BasicGrpcClient&) = delete;

  /// Opens a stream; `changes` replace or add headers.
  std::int32_t open(std::string_view path, const HeaderList& changes = {}) {
    HeaderList headers{{":method", "POST"},         {":scheme", "http"}, {":path", std::string(path)},
                       {":authority", "localhost"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
    for (const auto& [name, value] : changes) {
      const auto at = std::find_if(headers.begin(), headers.end(), [&](const auto& h) { return h.first == name; });
      at == headers.end() ? void(headers.emplace_back(name, value)) : void(at->second = value);
    }
    std::vector<nghttp2_nv> list;
    for (auto& [name, value] : headers) {
      list.push_back({reinterpret_cast<std::uint8_t*>(name.data()), reinterpret_cast<std::uint8_t*>(value.data()),
                      name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    const nghttp2_data_provider body = {.source = {}, .read_callback = on_read};
    const std::int32_t id = nghttp2_submit_request(session_.get(), nullptr, list.data(), list.size(), &body, nullptr);
    flush();
    return id;
  }
  void send(std::int32_t id, std::string_view bytes, bool end = false) {
    bodies_[id].first += bytes;
    bodies_[id].second |= end;
    nghttp2_session_resume_data(session_.get(), id);
    flush();
  }
  /// A call with one message.
  std::int32_t call(std::string_view method, std::string_view message, const HeaderList& changes = {}) {
    const std::int32_t id = open("/inference.GRPCInferenceService/" + std::string(method), changes);
    send(id, framed(message), true);
    return id;
  }
  void reset(std::int32_t id) {
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    flush();
  }
  /// Sets the window of streams to be opened: how many bytes the server may send before the client has read them.
  void set_window(std::uint32_t bytes) {
    const nghttp2_settings_entry entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, bytes};
    nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, &entry, 1);
    flush();
  }
  void ping() {
    nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
    flush();
  }
  /// Waits until the server has seen and answered everything so far; more may go out then.
  void settle() {
    for (int round = 0; round < 4; ++round) {
      const std::size_t wanted = pongs_ + 1;
      ping();
      while (pongs_ < wanted && receive()) continue;
    }
  }
  /// Bytes of a stream that the server does not want yet.
  std::size_t unsent(std::int32_t id) { return bodies_[id].first.size(); }
  /// Bytes as they are, such as frames that nghttp2 would not send.
  void send_plain(std::string_view bytes) {
    flush();
    boost::system::error_code error;
    boost::asio::write(stream_, boost::asio::buffer(bytes), error);
  }

  /// Waits for the end of a stream or of the connection.
  const Answer& wait(std::int32_t id) {
    while (!answers_[id].closed && receive()) continue;
    return answers_[id];
  }
  /// Waits for so many bytes of a stream's answer.
  const std::string& wait(std::int32_t id, std::size_t bytes) {
    while (answers_[id].data.size() < bytes && !answers_[id].closed && receive()) continue;
    return answers_[id].data;
  }
  /// Waits until the server has closed the connection. Returns the error of its GOAWAY, or nothing.
  const std::string& wait_for_end() {
    while (receive()) continue;
    return goaway_;
  }
  void close() { stream_.lowest_layer().close(); }

 private:
  static BasicGrpcClient& of(void* user) { return *static_cast<BasicGrpcClient*>(user); }
  static std::string text(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
  }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                       const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    of(user).answers_[frame->hd.stream_id].headers[text(name, name_size)] = text(value, value_size);
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes, std::size_t size,
                     void* user) {
    of(user).answers_[id].data += text(bytes, size);
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_GOAWAY) of(user).goaway_ = nghttp2_http2_strerror(frame->goaway.error_code);
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) ++of(user).pongs_;
    return 0;
  }
  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t error, void* user) {
    of(user).answers_[id].closed = true;
    of(user).answers_[id].error = error;
    return 0;
  }
  static ssize_t on_read(nghttp2_session*, std::int32_t id, std::uint8_t* to, std::size_t most, std::uint32_t* flags,
                         nghttp2_data_source*, void* user) {
    auto& [bytes, end] = of(user).bodies_[id];
    const std::size_t size = std::min(most, bytes.size());
    if (size == 0 && !end) return NGHTTP2_ERR_DEFERRED;
    bytes.copy(reinterpret_cast<char*>(to), size);
    bytes.erase(0, size);
    if (bytes.empty() && end) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }

  void flush() {
    const std::uint8_t* bytes = nullptr;
    ssize_t size = 0;
    while ((size = nghttp2_session_mem_send(session_.get(), &bytes)) > 0) {
      boost::system::error_code error;
      boost::asio::write(stream_, boost::asio::buffer(bytes, static_cast<std::size_t>(size)), error);
    }
  }
  bool receive() {
    flush();
    char buffer[4096];
    boost::system::error_code error;
    const std::size_t size = stream_.read_some(boost::asio::buffer(buffer), error);
    if (error) return false;
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(buffer);
    return nghttp2_session_mem_recv(session_.get(), bytes, size) >= 0;
  }

  boost::asio::io_context context_;
  Stream stream_;
  std::unique_ptr<nghttp2_session, decltype(&nghttp2_session_del)> session_;
  std::map<std::int32_t, Answer> answers_;
  std::map<std::int32_t, std::pair<std::string, bool>> bodies_;  // still to be sent, and whether they end there
  std::string goaway_;
  std::size_t pongs_ = 0;
};

using GrpcClient = BasicGrpcClient<>;

}  // namespace frazil::test
