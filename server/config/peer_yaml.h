#pragma once

#include <string>

#include "server/config/server_config.h"
#include "server/config/yaml.h"

// Readers of how to reach other servers: addresses, credentials and TLS files. All throw api::Error (bad_input) that
// names the field. No message contains a secret.
namespace frazil::server {

/// Reads HOST:PORT, such as "127.0.0.1:6379" or "[::1]:6379".
std::string read_address(const YamlNode& node);

/// Reads a secret: TEXT, {file: PATH} or {environment: NAME}. A line break at the end of the file is not part of it.
/// Relative paths start at `folder`; empty: the working directory.
std::string read_secret(const YamlNode& node, const std::string& folder);

/// Reads {ca: FILE, certificate: FILE, key: FILE}. Does not open the files.
TlsFiles read_tls_files(const YamlNode& node, const std::string& folder);

/// The address of a Redis server and how to enter it.
struct RedisPlace {
  std::string address;  ///< HOST:PORT
  RedisAccess access;
};
/// Reads the keys of a map: `redis`, which is HOST:PORT, redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE] or
/// rediss://... with TLS, and `redis_user`, `redis_password`, `redis_database` and `redis_tls`, which override parts of
/// the URL. Without `redis`, the address is empty and the other keys are errors.
RedisPlace read_redis(const YamlNode& map, const std::string& folder);

}  // namespace frazil::server
