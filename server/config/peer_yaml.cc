#include "server/config/peer_yaml.h"

#include <cstdlib>
#include <filesystem>
#include <optional>

#include <frazil/error.h>

#include "server/core/url_parts.h"

namespace frazil::server {
namespace {

constexpr std::uint64_t kMaxDatabase = 1'000'000;

std::string in_folder(const std::string& folder, const std::string& file) {
  return folder.empty() ? file : (std::filesystem::path(folder) / file).string();
}

std::string text_of_file(const YamlNode& node, const std::string& file) {
  try {
    return read_config_file(file);
  } catch (const api::Error& error) {
    node.fail(error.what());
  }
}

/// Reads a secret from a file. Errors name the file.
std::string secret_in(const YamlNode& node, const std::string& file) {
  std::string text = text_of_file(node, file);
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) node.fail(file + ": expected a secret, the file is empty");
  return text;
}

std::string secret_of_environment(const YamlNode& node, const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') node.fail("the environment variable " + name + " is not set");
  return value;
}

/// Reads redis://... or rediss://... into an empty place. The message of a refusal does not contain the text, as it may
/// contain a password.
void read_redis_url(const YamlNode& node, RedisPlace& place) {
  const auto url = UrlParts::parse(node.text());
  const bool tls = url && url->scheme == "rediss";
  const std::string database = url && url->path.size() > 1 ? url->path.substr(1) : "0";
  const auto number = whole_from(database);
  if (!url || (!tls && url->scheme != "redis") || !number || *number > kMaxDatabase) {
    node.fail("expected redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE], or the same with rediss:// for TLS");
  }
  place.address = url->host + ":" + (url->port.empty() ? "6379" : url->port);
  place.access = {.user = url->user, .password = url->password, .database = *number};
  if (tls) place.access.tls.emplace();
}

}  // namespace

std::string read_address(const YamlNode& node) {
  const std::string text = node.text();
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) node.expected("HOST:PORT");
  const std::string_view host = std::string_view(text).substr(0, colon);
  const std::uint64_t port = whole_from(std::string_view(text).substr(colon + 1)).value_or(0);
  const bool bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  const bool good_host = !host.empty() && (bracketed || host.find_first_of(":[]/ ") == std::string_view::npos);
  if (text.contains('@')) node.fail("expected HOST:PORT");  // without the text, which may contain a password
  if (!good_host || port == 0 || port > 65535) node.expected("HOST:PORT");
  return text;
}

std::string read_secret(const YamlNode& node, const std::string& folder) {
  if (node.is_scalar()) {
    std::string text = node.text();
    if (text.empty()) node.fail("expected a text that is not empty");
    return text;
  }
  constexpr const char* kExpected = "expected a text, {file: PATH} or {environment: NAME}";
  if (!node.is_map() || node.entries().size() != 1) node.fail(kExpected);
  if (const auto file = node.find("file")) return secret_in(*file, in_folder(folder, file->name()));
  const auto variable = node.find("environment");
  if (!variable) node.fail(kExpected);
  return secret_of_environment(*variable, variable->name());
}

TlsFiles read_tls_files(const YamlNode& node, const std::string& folder) {
  TlsFiles tls;
  const auto read = [&](std::string& to) { return [&](const YamlNode& x) { to = in_folder(folder, x.name()); }; };
  node.fields({{"ca", read(tls.ca)}, {"certificate", read(tls.certificate)}, {"key", read(tls.key)}});
  if (tls.certificate.empty() != tls.key.empty()) node.fail("expected both of the keys 'certificate' and 'key'");
  return tls;
}

RedisPlace read_redis(const YamlNode& map, const std::string& folder) {
  RedisPlace place;
  const auto redis = map.find("redis");
  for (const char* key : {"redis_user", "redis_password", "redis_database", "redis_tls"}) {
    const auto field = map.find(key);
    if (field && !redis) field->fail("requires the key 'redis'");
  }
  if (!redis) return place;
  if (redis->text().contains("://"))
    read_redis_url(*redis, place);
  else
    place.address = read_address(*redis);
  RedisAccess& access = place.access;
  if (const auto user = map.find("redis_user")) access.user = user->name();
  if (const auto password = map.find("redis_password")) access.password = read_secret(*password, folder);
  if (const auto database = map.find("redis_database")) access.database = database->whole(0, kMaxDatabase);
  if (const auto tls = map.find("redis_tls")) access.tls = read_tls_files(*tls, folder);
  if (!access.user.empty() && access.password.empty()) {
    map.at(map.find("redis_user") ? "redis_user" : "redis").fail("requires the key 'redis_password'");
  }
  return place;
}

}  // namespace frazil::server
