#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/error.h"

namespace frazil::tool {

/// A file of a web page.
struct PageFile {
  std::string_view path;  ///< "/view.js"
  std::string_view type;  ///< its media type
  std::string_view content;
};

/// Serves files over HTTP/1.1 on 127.0.0.1 until SIGINT or SIGTERM. Only answers GET and HEAD requests whose host is
/// this one, so that pages of other sites cannot read the files.
///
/// `port` 0 selects a free port. `listening` is called with the port when requests are served. `files` must not change
/// meanwhile. Returns Code::bad_input for a port that is in use or not permitted.
void serve_page(const std::vector<PageFile>& files, std::uint16_t port,
                const std::function<void(std::uint16_t port)>& listening);

/// An answer to a posted body.
struct PostAnswer {
  unsigned status;
  std::string type;  ///< its media type
  std::string body;
};

/// The content of one path.
struct PostService {
  std::string path;                                           ///< "/add-checkpoint"
  std::size_t max_bytes;                                      ///< of a request's body; larger ones get status 413
  std::function<PostAnswer(const std::string& body)> answer;  ///< called from one thread
};

/// Answers POST requests over HTTP/1.1 at an address ("127.0.0.1", "::") until SIGINT or SIGTERM. Requests may name any
/// host. The rest is as in serve_page().
void serve_posts(const PostService& service, const std::string& address, std::uint16_t port,
                 const std::function<void(std::uint16_t port)>& listening);

}  // namespace frazil::tool
