#pragma once

#include <string>
#include <string_view>

namespace frazil::server::proto {

/// Answers a ServerReflectionRequest of grpc.reflection.v1 or v1alpha with a ServerReflectionResponse, which may
/// contain an error. Throws Refusal (bad_request) for damaged bytes.
std::string reflection_response(std::string_view request);

}  // namespace frazil::server::proto
