#include "server/core/url_parts.h"

#include <new>

#include "server/core/curl_library.h"

namespace frazil::server {
namespace {

/// Returns a part of a URL; "" if it has none.
std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl().url_get(url, part, &text, flags) != CURLUE_OK) return {};
  return std::unique_ptr<char, CurlRelease<&CurlLibrary::free>>(text).get();
}

}  // namespace

std::optional<UrlParts> UrlParts::parse(const std::string& text) {
  const std::unique_ptr<CURLU, CurlRelease<&CurlLibrary::url_cleanup>> url(curl().url());
  if (url == nullptr) throw std::bad_alloc();
  if (curl().url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
    return std::nullopt;
  UrlParts parts{.scheme = part_of(url.get(), CURLUPART_SCHEME),
                 .user = part_of(url.get(), CURLUPART_USER, CURLU_URLDECODE),
                 .password = part_of(url.get(), CURLUPART_PASSWORD, CURLU_URLDECODE),
                 .host = part_of(url.get(), CURLUPART_HOST),
                 .port = part_of(url.get(), CURLUPART_PORT),
                 .path = part_of(url.get(), CURLUPART_PATH)};
  if (parts.host.empty() || parts.port == "0") return std::nullopt;
  return parts;
}

std::string UrlParts::shown() const { return scheme + "://" + host + (port.empty() ? "" : ":" + port) + path; }

}  // namespace frazil::server
