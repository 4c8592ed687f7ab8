#pragma once

#include <vector>

#include "server/json_text.h"
#include "server/message.h"
#include "server/request.h"

// Bodies of inference requests and responses: Open Inference Protocol v2, JSON and Triton's binary tensors
// (https://kserve.github.io/website/latest/modelserving/data_plane/v2_protocol).
namespace frazil::server {

/// Reads a request. Binary tensors are views of the message's body and hold its owner; without an owner the body must
/// outlive them. Throws Refusal (bad_request) that names what is wrong.
InferRequest read_infer(const Message& message);

/// The time-out of a request whose JSON has at most `most` bytes; nothing where it has none, or cannot be read.
std::optional<Clock::duration> timeout_in(const Message& message, std::size_t most);

/// Which outputs of a request are answered with as binary data.
class BinaryOutputs {
 public:
  explicit BinaryOutputs(const InferRequest& request);
  /// Of the i-th output of the response.
  bool at(std::size_t i) const { return chosen_.empty() ? all_ : chosen_[i]; }

 private:
  bool all_;
  std::vector<bool> chosen_;
};

/// Writes tensors as an array of the protocol's form, without binary data. Throws as write_infer().
void write_tensors(JsonText& json, const std::vector<NamedArray>& tensors);

/// Throws Refusal (bad_request) for an output that the protocol has no form for.
Reply write_infer(const InferResponse& response, const BinaryOutputs& binary);

}  // namespace frazil::server
