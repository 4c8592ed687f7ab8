#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/error.h>
#include <frazil/model.h>

#include "server/model_config.h"

// Recorded requests that a version of a model has to answer as recorded before it is served.
namespace frazil::server {

/// A version does not answer what was recorded, or that cannot be read.
class CanaryFault : public api::Error {
 public:
  explicit CanaryFault(const std::string& message) : api::Error(api::Code::bad_input, message) {}
};

struct Canary {
  std::string name;                ///< of its folder
  std::vector<api::Array> inputs;  ///< by position; empty: the default
  std::vector<api::Array> wanted;  ///< the outputs by position; empty: was not recorded
};

/// The samples of a folder: each folder in it, or it itself, has files input_0.pb, output_0.pb, ... as ONNX's test data
/// do. In the order of their names. Throws CanaryFault where there is none, and for files that do not fit the model.
std::vector<Canary> read_canaries(const std::string& folder, const api::Model& model);

/// Throws CanaryFault, which names sample and output, where results are not those that were recorded. `how` they came
/// about stands behind the sample's name.
void check_canary(const Canary& canary, const api::Model& model, std::span<const api::Array> results,
                  const Tolerance& tolerance, std::string_view how = "");

}  // namespace frazil::server
