#pragma once

#include <map>
#include <string>
#include <vector>

#include <frazil/model.h>

#include "server/config/model_config.h"
#include "server/core/workers.h"
#include "server/model/canary.h"
#include "server/model/reference_check.h"
#include "server/state/state_store.h"

namespace frazil::server {

/// The model, settings and services for one version of an ONNX model. Plain data.
struct ModelParts {
  api::Model model;
  ModelConfig config;
  std::map<std::string, std::vector<std::string>, std::less<>> labels;  ///< per output
  api::Options options;
  Workers* workers = nullptr;
  StateStore* states = nullptr;
  ReferenceCheck::Share check;   ///< share of runs to compare with the reference executor
  std::vector<Canary> canaries;  ///< must be reproduced before the model is served
};

}  // namespace frazil::server
