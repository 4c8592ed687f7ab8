#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>

#include "server/core/message.h"
#include "server/http/http_head.h"
#include "server/net/coding.h"
#include "server/net/server_options.h"

namespace frazil::server {

/// The largest number of bytes of one read.
inline constexpr std::size_t kLongRead = 64 * 1024;

/// A Body type for Beast's parser. Compressed bodies are inflated as they arrive, and the reader throws the exceptions
/// of Inflater. An unknown coding is treated as none.
struct RequestBody {
  struct value_type {
    std::string bytes;
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max();  ///< limit for the inflated bytes
  };

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(boost::beast::http::header<is_request, Fields>& head, value_type& body)
        : coding_([&head] { return coding_of(head).value_or(Coding::none); }), body_(body) {}

    /// Called when the header is complete.
    void init(const boost::optional<std::uint64_t>& length, boost::system::error_code& error) {
      error = {};
      const Coding coding = coding_();
      if (coding != Coding::none) {
        inflater_.emplace(coding);
      } else if (length) {
        body_.bytes.reserve(*length);
      }
    }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      std::size_t size = 0;
      for (auto at = boost::asio::buffer_sequence_begin(buffers); at != boost::asio::buffer_sequence_end(buffers);
           ++at) {
        const boost::asio::const_buffer buffer = *at;
        const std::string_view bytes(static_cast<const char*>(buffer.data()), buffer.size());
        inflater_ ? inflater_->add(bytes, body_.bytes, body_.most) : void(body_.bytes += bytes);
        size += bytes.size();
      }
      return size;
    }
    void finish(boost::system::error_code& error) {
      error = {};
      if (inflater_) inflater_->end();
    }

   private:
    const std::function<Coding()> coding_;
    value_type& body_;
    std::optional<Inflater> inflater_;
  };
};

/// A request that is parsed as it arrives, within the server's limits.
class HttpRequest {
 public:
  explicit HttpRequest(const ServerOptions& options);

  /// Takes bytes of the header from the buffer, and none of the body. Returns the error answer for an invalid header;
  /// the object is then unusable.
  std::optional<Reply> take_head(boost::beast::flat_buffer& buffer);
  /// Takes bytes of the body from the buffer and inflates them. Otherwise as take_head(). Precondition: has_head().
  std::optional<Reply> take_body(boost::beast::flat_buffer& buffer);

  bool has_head() const { return parser_.is_header_done(); }
  bool complete() const { return parser_.is_done(); }
  const RequestHead& head() const { return parser_.get(); }
  /// Returns the received and inflated part of the body.
  std::string& body() { return parser_.get().body().bytes; }
  /// Returns true if the client wants to send more requests. Precondition: has_head().
  bool keep_alive() const { return parser_.keep_alive(); }
  /// Returns the remaining bytes of the body, or nullopt if unknown. Precondition: has_head().
  std::optional<std::uint64_t> left() const;
  /// Returns the recommended size of the next read, in bytes.
  std::size_t next_read_size() const;

 private:
  std::optional<Reply> take(boost::beast::flat_buffer& buffer);
  Reply answer_to(boost::system::error_code error) const;

  const ServerOptions& options_;
  boost::beast::http::request_parser<RequestBody> parser_;
};

}  // namespace frazil::server
