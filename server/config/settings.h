#pragma once

#include "server/config/server_config.h"
#include "server/config/yaml.h"

namespace frazil::server {

/// Returns the scalar values of a configuration file as JSON by their paths: "models.bert.batching.delay_us" is "500".
/// Items of a list have their index, "paths.redact[0]"; items with a key `name` have its value, "tenants[acme].admin".
/// Contains no secret: values of keys whose name has the word key, keys, password, secret or token are "sha256:..." of
/// the value, and URLs lack user, password and query.
ServerConfig::Settings settings_of(const YamlNode& root);

}  // namespace frazil::server
