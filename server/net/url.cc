#include "server/net/url.h"

#include <algorithm>
#include <charconv>

#include "server/core/message.h"

namespace frazil::server {

std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    unsigned byte = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const char* const end = text.data() + i + 3;
    const auto parsed = std::from_chars(text.data() + i + 1, end, byte, 16);
    if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
    plain += static_cast<char>(byte);
    i += 2;
  }
  return plain;
}

std::map<std::string, std::string> query_of(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t equal = part.find('=');
    const auto key = decoded(part.substr(0, equal)),
               value = equal == std::string_view::npos ? std::nullopt : decoded(part.substr(equal + 1));
    if (!key || !value) throw Refusal(Http::bad_request, "query '" + std::string(part) + "': expected KEY=VALUE");
    query[*key] = *value;
  }
  return query;
}

}  // namespace frazil::server
