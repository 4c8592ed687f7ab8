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

/// Returns the inputs that clients send: all but the states of sequences.
std::vector<api::Port> client_inputs(const Served& served);
/// Returns client_inputs() in the form of ModelConfig.
std::vector<ConfigPort> config_inputs(const Served& served);
std::vector<ConfigPort> config_outputs(const Served& served);

/// A state of a model's sequences: the input that carries it, and the output that it is taken from.
struct ConfigState {
  ConfigPort input;
  std::string output;
};
std::vector<ConfigState> config_states(const Served& served);

/// The scheduler of a model, of which Triton's ModelConfig names one.
enum class Scheduling : std::uint8_t { none, dynamic_batching, sequence_batching };
Scheduling scheduling_of(const Served& served);

}  // namespace frazil::server
