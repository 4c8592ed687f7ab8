#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/model_config.h"

// config.pbtxt, Triton's description of a model, as far as it means something here.
namespace frazil::server {

/// An input or output as the file declares it.
struct DeclaredPort {
  std::string name;
  std::string datatype;             ///< of the protocol, "FP32", "BYTES"; empty: not declared
  std::vector<std::int64_t> shape;  ///< of the model's own tensor, with the batch axis; -1 varies
  bool has_shape = false;
  std::size_t line = 0;
};

struct ReadConfig {
  ModelConfig config;
  std::string name;  ///< empty: the file has none; Triton wants that of the folder
  std::uint64_t max_batch_size = 0;
  std::vector<DeclaredPort> inputs, outputs;
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
/// ("INPUT:AXIS:VALUE;..."), "frazil.lengths", "frazil.max_waste", "frazil.canary_rtol" and "frazil.canary_atol".
ReadConfig read_config_pbtxt(const std::string& path);
ReadConfig read_config_pbtxt_text(std::string_view text, const std::string& path);

}  // namespace frazil::server
