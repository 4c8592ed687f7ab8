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

#include "server/coding.h"
#include "server/http_head.h"
#include "server/message.h"
#include "server/server.h"

namespace frazil::server {

/// Bytes that one read takes at most.
inline constexpr std::size_t kLongRead = 64 * 1024;

/// A body as Beast's parser fills it. A compressed one is taken apart as it comes: its reader throws what Inflater
/// does. A coding that is not known counts as none.
struct RequestBody {
  struct value_type {
    std::string bytes;
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max();  ///< of what was compressed
  };

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(boost::beast::http::header<is_request, Fields>& head, value_type& body)
        : coding_([&head] { return coding_of(head).value_or(Coding::none); }), body_(body) {}

    /// The header is known.
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

/// A request as it comes, within the server's limits.
class HttpRequest {
 public:
  explicit HttpRequest(const ServerOptions& options);

  /// Takes what the buffer has of the header, and nothing of the body. Returns the answer where that is wrong, and then
  /// is of no more use.
  std::optional<Reply> take_head(boost::beast::flat_buffer& buffer);
  /// Takes what the buffer has of the body, and inflates it. As take_head() in all else. Precondition: has_head().
  std::optional<Reply> take_body(boost::beast::flat_buffer& buffer);

  bool has_head() const { return parser_.is_header_done(); }
  bool complete() const { return parser_.is_done(); }
  const RequestHead& head() const { return parser_.get(); }
  /// What has come of it, and is not compressed any more.
  std::string& body() { return parser_.get().body().bytes; }
  /// Whether the client wants to send others. Precondition: has_head().
  bool keep_alive() const { return parser_.keep_alive(); }
  /// Bytes of the body that were not taken yet; nothing where that is not known. Precondition: has_head().
  std::optional<std::uint64_t> left() const;
  /// How many bytes are best read at once.
  std::size_t at_once() const;

 private:
  std::optional<Reply> take(boost::beast::flat_buffer& buffer);
  Reply answer_to(boost::system::error_code error) const;

  const ServerOptions& options_;
  boost::beast::http::request_parser<RequestBody> parser_;
};

}  // namespace frazil::server
