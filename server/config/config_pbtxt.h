#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/model_config.h"

// Triton's model description config.pbtxt, as far as Frazil supports it.
namespace frazil::server {

struct ReadConfig {
  ModelConfig config;
  std::string name;                   ///< empty: the file has none; Triton expects the folder's name
  std::vector<std::string> warnings;  ///< "PATH:LINE: field 'x' is ignored: ...", once per field
};

/// Reads a config.pbtxt. Unsupported and unknown fields are reported as warnings. Throws api::Error (bad_input) for a
/// text that cannot be parsed, for values out of range and for models of another backend: "PATH:LINE: field
/// 'dynamic_batching.priority_levels': expected ..., got ...".
///
/// As in Triton, a file without version_policy serves the newest version. Requests are batched if the file has
/// dynamic_batching and max_batch_size is above 0. Without dynamic_batching, clients may still send batches.
///
/// Parameters of Frazil: "frazil.deadline_ms", "frazil.memory_limit" ("1GiB"), "frazil.pad" ("INPUT:AXIS:VALUE;..."),
/// "frazil.lengths", "frazil.max_waste", "frazil.canary_rtol", "frazil.canary_atol" and "frazil.defaults" ("fixed" or
/// "inputs").
ReadConfig read_config_pbtxt(const std::string& path);
ReadConfig read_config_pbtxt_text(std::string_view text, const std::string& path);

}  // namespace frazil::server
