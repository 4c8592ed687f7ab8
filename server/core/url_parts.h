#pragma once

#include <memory>
#include <optional>
#include <string>

namespace frazil::server {

/// The parts of an absolute URL.
struct UrlParts {
  std::string scheme;          ///< in lower case
  std::string user, password;  ///< decoded; may be empty
  std::string host;            ///< an IPv6 address has brackets
  std::string port;            ///< 1 to 65535; empty: the scheme's default
  std::string path;            ///< begins with "/", not decoded

  /// Parses SCHEME://[USER[:PASSWORD]@]HOST[:PORT][/PATH][?QUERY]; returns nullopt for another text.
  static std::optional<UrlParts> parse(const std::string& text);
  /// Returns the URL for messages: without user, password and query.
  std::string shown() const;
};

}  // namespace frazil::server
