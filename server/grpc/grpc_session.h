#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <nghttp2/nghttp2.h>

#include "server/grpc/grpc.h"
#include "server/grpc/grpc_framing.h"
#include "server/net/coding.h"
#include "server/net/transport.h"

namespace frazil::server {

/// The buffers of one write. Short pieces are copied, long ones are referenced.
class GrpcBatch {
 public:
  void add(std::string_view bytes) {
    if (bytes.empty()) return;
    if (pieces_.empty() || pieces_.back().owner != nullptr) pieces_.push_back({nullptr, copied_.size(), 0});
    copied_ += bytes;
    pieces_.back().size += bytes.size();
    size_ += bytes.size();
  }
  void add(const SharedBytes& owner, std::size_t offset, std::size_t size) {
    if (size < kCopiedBytes) return add(std::string_view(*owner).substr(offset, size));
    pieces_.push_back({owner, offset, size});
    size_ += size;
  }
  void clear() {
    copied_.clear();
    pieces_.clear();
    size_ = 0;
  }
  std::size_t size() const { return size_; }
  std::vector<boost::asio::const_buffer> buffers() const {
    std::vector<boost::asio::const_buffer> buffers;
    for (const Piece& piece : pieces_) {
      const std::string& from = piece.owner == nullptr ? copied_ : *piece.owner;
      buffers.emplace_back(from.data() + piece.offset, piece.size);
    }
    return buffers;
  }

 private:
  static constexpr std::size_t kCopiedBytes = 4 * 1024;
  struct Piece {
    SharedBytes owner;  // null: copied_
    std::size_t offset, size;
  };
  std::string copied_;
  std::vector<Piece> pieces_;
  std::size_t size_ = 0;
};

/// A token bucket: a burst of `most` events, and `per_second` on average.
class Allowance {
 public:
  Allowance(double most, double per_second) : left_(most), most_(most), per_second_(per_second) {}
  bool take() {
    const auto now = Clock::now();
    left_ = std::min(most_, left_ + per_second_ * std::chrono::duration<double>(now - since_).count());
    since_ = now;
    return --left_ >= 0;
  }

 private:
  double left_, most_, per_second_;
  Clock::time_point since_ = Clock::now();
};

/// The bytes of messages and replies that the calls of a connection hold, and their limit.
class HeldMessages {
 public:
  HeldMessages(Transport& transport, std::uint64_t most) : transport_(transport), most_(most) {}
  /// Adds bytes, which may be negative, to those of a call, `of_call`, and of the connection.
  void add(std::uint64_t& of_call, std::int64_t bytes) {
    of_call += static_cast<std::uint64_t>(bytes);
    held_.set(held_.get() + static_cast<std::uint64_t>(bytes));
  }
  std::uint64_t most() const { return most_; }
  bool over_limit() const { return held_.get() > most_; }
  /// Returns the refusal for requests that need more memory, if the connection or the server holds too much.
  std::optional<Refusal> refusal() const {
    if (!over_limit()) return transport_.over_memory_limit();
    return Refusal(Http::too_many, "the connection's messages have more than " + std::to_string(most_) + " bytes");
  }

 private:
  Transport& transport_;
  const std::uint64_t most_;
  Buffered held_{transport_};
};

/// The HTTP/2 session of one connection and its calls, independent of the socket: bytes in, bytes out.
class GrpcSession {
 public:
  /// Identifies a message of a stream, to which an answer belongs.
  struct MessageId {
    std::int32_t stream;
    std::uint64_t number;  ///< position of the message in its stream
    Coding coding;         ///< compression that the client accepts for the answer
  };
  using DoneFor = std::function<Grpc::Done(const MessageId& to)>;  ///< creates the callback for an answer

  struct Client {
    std::span<const std::string> names;    ///< names in its certificate; they outlive the session
    std::function<std::string()> address;  ///< returns its address for the access log
  };
  GrpcSession(Transport& transport, Service& service, Client client, DoneFor done_for);
  ~GrpcSession();
  GrpcSession(const GrpcSession&) = delete;
  GrpcSession& operator=(const GrpcSession&) = delete;

  /// Takes received bytes, or only a part of them if inflating takes long. Returns the number of bytes taken, or
  /// nullopt if the connection is unusable.
  std::optional<std::size_t> receive(std::string_view bytes);
  /// Adds bytes to send. Returns false if the connection is unusable.
  bool fill(GrpcBatch& batch);
  void answered(const MessageId& to, GrpcReply reply);
  /// Takes no more calls and finishes the current ones.
  void end();
  /// Makes all waiting callers leave.
  void leave();
  void ping() { nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr); }
  /// Ends calls without progress for `patience`, and sends changes of watched values.
  void check(Clock::duration patience);
  bool empty() const { return streams_.empty(); }
  /// Returns true if nothing will be sent or received any more.
  bool over() const {
    if (ending_ && streams_.empty() && nghttp2_session_want_write(session_.get()) == 0) return true;
    return nghttp2_session_want_read(session_.get()) == 0 && nghttp2_session_want_write(session_.get()) == 0;
  }

 private:
  struct Callbacks;
  struct Stream;
  Stream* find(std::int32_t id);
  void frame_received(const nghttp2_frame& frame);
  void frame_sent(const nghttp2_frame& frame);
  void accept(Stream& stream);
  void data(std::int32_t id, std::string_view bytes);
  std::size_t take(Stream& stream, std::string_view bytes);
  void take_some(Stream& stream, std::string_view& bytes);
  void request_ended(Stream& stream);
  void next(Stream& stream);
  void run(Stream& stream);
  void add(Stream& stream, GrpcReply reply);
  void finish(Stream& stream, GrpcReply status);
  void refuse(Stream& stream, const char* http_status);
  void begin_entry(Stream& stream) const;
  void watch(Stream& stream, SharedBytes message);
  void closed(std::int32_t id);
  bool send_reply(Stream& stream, const std::uint8_t* frame_head, std::size_t size);

  Transport& transport_;
  Service& service_;
  const Grpc grpc_;
  const Client client_;
  const DoneFor done_for_;
  std::unordered_map<std::int32_t, std::unique_ptr<Stream>> streams_;
  HeldMessages held_;
  bool ending_ = false;
  Allowance idle_frames_{1000, 100};  // limits frames without progress
  GrpcBatch* batch_ = nullptr;        // set during fill()
  std::size_t compressed_ = 0;        // streams whose messages may be compressed
  std::uint64_t inflated_ = 0;        // bytes inflated in this receive()
  std::unique_ptr<nghttp2_session, decltype(&nghttp2_session_del)> session_{nullptr, &nghttp2_session_del};
};

}  // namespace frazil::server
