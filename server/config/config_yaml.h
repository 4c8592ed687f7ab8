#pragma once

#include <string>
#include <string_view>

#include "server/config/server_config.h"

// The YAML file of `frazil serve --config`.
namespace frazil::server {

/// Reads a file of this form. Only the keys marked with (*) are required.
///
///   models:
///     NAME:
///       batching: {max_batch_size: 16, preferred: [4, 8], delay_us: 500, max_queue: 100, priority_levels: 2,
///                  default_priority: 1, timeout_us: 50000, pad: {INPUT: {axis: 1, value: 0}, INPUT: AXIS},
///                  lengths: INPUT, max_waste: 0.3}
///       state: {INPUT: OUTPUT}
///       idle_s: 60
///       versions: all                          # or {latest: N}, or a list of numbers
///       labels: {OUTPUT: FILE}
///       defaults: fixed                        # or inputs: whether requests may replace defaults of inputs
///       deadline_ms: 100
///       memory_limit: 1GiB
///       warm_up: 2
///       canary: {rtol: 0.001, atol: 1e-7}
///   tenants:
///     - {name: NAME (*), keys: [KEY, sha256:HEX] (*), max_waiting: 32, requests_per_second: 100,
///        models: [NAME], admin: false}
///   network: {model_control: false, replay: false, tensors: false, host_names: [NAME]}
///   state: {memory: 256MiB, max_sequences: 100000, folder: PATH, redis: "HOST:PORT", redis_prefix: "frazil:",
///           redis_user: NAME, redis_password: TEXT, redis_database: 0,
///           redis_tls: {ca: FILE, certificate: FILE, key: FILE}}      # see peer_yaml.h for other forms
///   paths: {ring: 1000, sample: 1.0, inputs: false, otlp: "HOST:PORT", otlp_tls: {ca: FILE}, check: 0.01}
///
/// Throws an error in the form of read_yaml() for an unknown key, a value of a wrong type or out of range, or settings
/// that exclude each other. Messages never contain keys or passwords.
ServerConfig read_server_config(const std::string& path);
ServerConfig read_server_config_text(std::string_view text, const std::string& name);

}  // namespace frazil::server
