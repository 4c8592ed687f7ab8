#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value/error.h"

namespace frazil::tool {

/// A file of a page.
struct PageFile {
  std::string_view path;  ///< "/view.js"
  std::string_view type;  ///< its media type
  std::string_view content;
};

/// Serves files over HTTP/1.1 on 127.0.0.1 until SIGINT or SIGTERM. Answers GET and HEAD of requests that name this
/// host, so that pages of other sites cannot read what is served. `port` 0 takes a free one; `listening` is told which,
/// once requests are served. `files` stay as they are meanwhile. Code::bad_input for a port that is in use or not
/// allowed.
Status serve_page(const std::vector<PageFile>& files, std::uint16_t port,
                  const std::function<void(std::uint16_t port)>& listening);

}  // namespace frazil::tool
