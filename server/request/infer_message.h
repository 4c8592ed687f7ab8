#pragma once

#include <vector>

#include "server/core/json_text.h"
#include "server/core/message.h"
#include "server/request/request.h"

// Bodies of inference requests and responses: Open Inference Protocol v2 in JSON, with Triton's binary tensors
// (https://kserve.github.io/website/latest/modelserving/data_plane/v2_protocol).
namespace frazil::server {

/// Reads a request. Binary tensors are views of the message's body and share its owner. Without an owner the body must
/// outlive them. Throws Refusal (bad_request) that names the problem.
InferRequest read_infer(const Message& message);

/// Returns the time-out of a request whose JSON has at most `most` bytes, or nullopt if there is none or it is
/// unreadable.
std::optional<Clock::duration> timeout_in(const Message& message, std::size_t most);

/// The outputs of a request that are answered as binary data.
class BinaryOutputs {
 public:
  explicit BinaryOutputs(const InferRequest& request);
  /// Returns true for binary data. `i` is the index in the response.
  bool at(std::size_t i) const { return chosen_.empty() ? all_ : chosen_[i]; }

 private:
  bool all_;
  std::vector<bool> chosen_;
};

/// Writes tensors as an array in the protocol's form, without binary data. Throws as write_infer().
void write_tensors(JsonText& json, const std::vector<NamedArray>& tensors);

/// Writes the arms of splits as members of an open object.
void write_arms(JsonText& json, const InferResponse& response);

/// Throws Refusal (bad_request) for an output without a form in the protocol.
Reply write_infer(const InferResponse& response, const BinaryOutputs& binary);

}  // namespace frazil::server
