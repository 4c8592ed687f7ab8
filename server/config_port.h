#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/served.h"

// Inputs and outputs as Triton's ModelConfig has them, for all protocols.
namespace frazil::server {

struct ConfigPort {
  std::string name;
  std::string_view type;    ///< "TYPE_FP32"; "TYPE_INVALID" for what Triton does not have
  std::int32_t number = 0;  ///< of the type in Triton's enumeration
  api::Sizes dims;          ///< -1 varies; without the batch axis where that is the first one
};

std::vector<ConfigPort> config_inputs(const Served& served);
std::vector<ConfigPort> config_outputs(const Served& served);

}  // namespace frazil::server
