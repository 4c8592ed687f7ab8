#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <frazil/array.h>

#include "server/message.h"

// Bodies of inference requests and responses: Open Inference Protocol v2, JSON and Triton's binary tensors
// (https://kserve.github.io/website/latest/modelserving/data_plane/v2_protocol).
namespace frazil::server {

struct WantedOutput {
  std::string name;
  std::optional<bool> binary;  ///< unset: as the request has it
};

struct InferRequest {
  std::string id;
  std::vector<std::pair<std::string, api::Array>> inputs;
  std::vector<WantedOutput> outputs;  ///< empty: all
  bool binary_outputs = false;
  std::optional<std::uint64_t> timeout_us;  ///< microseconds from the request's arrival
};

/// Reads a request. Binary tensors are views of the message's body, which must outlive them. Throws Refusal
/// (bad_request) that names what is wrong.
InferRequest read_infer(const Message& message);

struct Answer {
  std::string_view model, version, id;
  std::vector<std::pair<std::string, api::Array>> outputs;
  std::vector<bool> binary;  ///< per output
};

/// Throws Refusal (bad_request) for an output that the protocol has no form for.
Reply write_infer(const Answer& answer);

}  // namespace frazil::server
