#include "server/config/settings.h"

#include <algorithm>
#include <iterator>

#include "server/core/digest.h"
#include "server/core/json_text.h"
#include "server/core/url_parts.h"

namespace frazil::server {
namespace {

/// Returns whether a word of a key, "redis_password", is that of a secret.
bool is_secret(std::string_view key) {
  constexpr std::string_view kSecrets[] = {"key", "keys", "password", "secret", "token"};
  while (!key.empty()) {
    const std::size_t end = std::min(key.find('_'), key.size());
    if (std::ranges::find(kSecrets, key.substr(0, end)) != std::end(kSecrets)) return true;
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return false;
}

std::string quoted_json(std::string_view text) {
  JsonText json;
  json.value(text);
  return json.take();
}

std::string secret_json(const std::string& text) {
  if (text.starts_with(kDigestMark)) return quoted_json(text);
  return quoted_json(std::string(kDigestMark) + sha256(text));
}

/// Returns a scalar as JSON. Numbers and truth values keep their text.
std::string scalar_json(const YamlNode& node) {
  if (node.is_null()) return "null";
  const std::string text = node.text();
  if (text == "true" || text == "false" || whole_from(text)) return text;
  if (const auto number = number_from(text)) return number_text(*number);
  const auto url = text.contains("://") ? UrlParts::parse(text) : std::nullopt;
  if (url) return quoted_json(url->shown());
  return quoted_json(text.contains('@') ? std::string(kDigestMark) + sha256(text) : text);
}

void add_settings(const YamlNode& node, const std::string& path, bool secret, ServerConfig::Settings& to) {
  if (node.is_map()) {
    for (const auto& [key, value] : node.entries()) {
      const bool inner_secret = secret || (is_secret(key) && !path.contains("tls"));
      add_settings(value, path.empty() ? key : path + "." + key, inner_secret, to);
    }
  } else if (node.is_list()) {
    std::size_t i = 0;
    for (const YamlNode& item : node.items()) {
      const auto name = item.is_map() ? item.find("name") : std::nullopt;
      const std::string at = name && name->is_scalar() ? name->text() : std::to_string(i);
      add_settings(item, path + "[" + at + "]", secret, to);
      ++i;
    }
  } else {
    to[path] = secret && !node.is_null() ? secret_json(node.text()) : scalar_json(node);
  }
}

}  // namespace

ServerConfig::Settings settings_of(const YamlNode& root) {
  ServerConfig::Settings settings;
  if (!root.is_null()) add_settings(root, "", false, settings);
  return settings;
}

}  // namespace frazil::server
