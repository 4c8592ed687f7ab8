#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <frazil/array.h>

// Triton's extension "classification": the largest values of an output instead of all.
namespace frazil::server {

/// Strings "VALUE:INDEX" or "VALUE:INDEX:LABEL" of the `count` largest values along the last axis, largest first. The
/// other axes stay. Throws Refusal (bad_request) for an output that is no tensor of numbers with an axis.
api::Array classes_of(const api::Array& value, std::uint64_t count, std::span<const std::string> labels,
                      const std::string& output);

}  // namespace frazil::server
