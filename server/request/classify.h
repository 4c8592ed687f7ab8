#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <frazil/array.h>

// Triton's extension "classification": the largest values of an output instead of all values.
namespace frazil::server {

/// Returns the strings "VALUE:INDEX" or "VALUE:INDEX:LABEL" of the `count` largest values along the last axis, largest
/// first. Other axes are kept. Throws Refusal (bad_request) unless the output is a numeric tensor with at least one
/// axis.
api::Array classes_of(const api::Array& value, std::uint64_t count, std::span<const std::string> labels,
                      const std::string& output);

}  // namespace frazil::server
