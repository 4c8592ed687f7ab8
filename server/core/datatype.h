#pragma once

#include <optional>
#include <string_view>

#include <frazil/array.h>

namespace frazil::server {

/// Returns the Open Inference Protocol's name of an element type, such as "FP32"; empty for an unsupported type.
std::string_view datatype_of(api::Dtype dtype);
/// Returns the element type for a name of the protocol, or nullopt for an unknown name.
std::optional<api::Dtype> dtype_from(std::string_view datatype);

}  // namespace frazil::server
