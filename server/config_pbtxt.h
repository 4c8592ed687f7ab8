#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/model_config.h"

// config.pbtxt, Triton's description of a model, as far as it means something here.
namespace frazil::server {

struct ReadConfig {
  ModelConfig config;
  std::string name;                   ///< empty: the file has none; Triton wants that of the folder
  std::vector<std::string> warnings;  ///< "PATH:LINE: field 'x' is ignored: ...", once for each field
};

/// Reads a config.pbtxt. Fields without a meaning here, unknown ones among them, are told in the warnings. Throws
/// api::Error of Code::bad_input for a text that cannot be read, for values out of range and for models of another
/// backend: "PATH:LINE: field 'dynamic_batching.priority_levels': expected ..., got ...".
///
/// As in Triton, a file without version_policy serves the newest version. Requests are joined with dynamic_batching
/// and a max_batch_size above 0; without the first, clients may still send batches of their own.
///
/// Parameters of Frazil: "frazil.deadline_ms", "frazil.memory_limit" ("1GiB"), "frazil.pad"
/// ("INPUT:AXIS:VALUE;..."), "frazil.lengths", "frazil.max_waste", "frazil.canary_rtol", "frazil.canary_atol" and
/// "frazil.defaults" ("fixed" or "inputs").
ReadConfig read_config_pbtxt(const std::string& path);
ReadConfig read_config_pbtxt_text(std::string_view text, const std::string& path);

}  // namespace frazil::server
