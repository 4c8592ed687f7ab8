#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <frazil/array.h>

// Concatenation of tensors of several requests, and splitting of the result.
namespace frazil::server {

/// The batch axis of a tensor and the axis along which requests may differ.
struct StackAxes {
  std::size_t batch = 0;
  std::optional<std::size_t> padded;
  double padding = 0;  ///< the padding value
};

/// Returns true if tensors of the type may have a padded axis.
bool can_be_padded(api::Dtype dtype);

/// Concatenates tensors along the batch axis and pads shorter ones along the padded axis. All must have the same
/// element type, other than string, and equal other extents. Padding requires a type of can_be_padded().
api::Array stacked(std::span<const api::Array> parts, const StackAxes& axes);

/// Returns `count` elements of `whole` at `begin` along the batch axis, and the first `length` along the padded axis.
/// Returns a view if the bytes are contiguous.
api::Array part_of(const api::Array& whole, const StackAxes& axes, std::int64_t begin, std::int64_t count,
                   std::optional<std::int64_t> length);

}  // namespace frazil::server
