#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/model/served.h"

// Inputs and outputs in the form of Triton's ModelConfig, for all protocols.
namespace frazil::server {

struct ConfigPort {
  std::string name;
  std::string_view type;    ///< "TYPE_FP32"; "TYPE_INVALID" for a type that Triton lacks
  std::int32_t number = 0;  ///< value of the type in Triton's enumeration
  api::Sizes dims;          ///< -1 for a variable extent; excludes the batch axis if that is axis 0
};

std::vector<ConfigPort> config_inputs(const Served& served);
std::vector<ConfigPort> config_outputs(const Served& served);

}  // namespace frazil::server
