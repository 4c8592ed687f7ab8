#pragma once

#include <optional>
#include <string_view>

#include <frazil/array.h>

namespace frazil::server {

/// The Open Inference Protocol's name of an element type, "FP32"; empty for one that it does not have.
std::string_view datatype_of(api::Dtype dtype);
/// The element type that the protocol's name stands for.
std::optional<api::Dtype> dtype_from(std::string_view datatype);

}  // namespace frazil::server
