#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/error.h>
#include <frazil/model.h>

#include "server/config/model_config.h"

// Recorded requests with their results. A version of a model must reproduce them before it is served.
namespace frazil::server {

/// The error for a version that does not reproduce a canary, and for a canary that cannot be read.
class CanaryFault : public api::Error {
 public:
  explicit CanaryFault(const std::string& message) : api::Error(api::Code::bad_input, message) {}
};

struct Canary {
  std::string name;                ///< name of its folder
  std::vector<api::Array> inputs;  ///< by position; an empty one means the default
  std::vector<api::Array> wanted;  ///< the outputs by position; an empty one was not recorded
};

/// Reads the canaries of a folder, in the order of their names. Each subfolder is one canary; without subfolders the
/// folder itself is. A canary has files input_0.pb, output_0.pb, ... as in ONNX's test data. Throws CanaryFault if
/// there is none, or if files do not fit the model.
std::vector<Canary> read_canaries(const std::string& folder, const api::Model& model);

/// Throws CanaryFault, which names canary and output, if results differ from the recorded ones. `how` describes the run
/// and follows the canary's name in the message.
void check_canary(const Canary& canary, const api::Model& model, std::span<const api::Array> results,
                  const Tolerance& tolerance, std::string_view how = "");

}  // namespace frazil::server
