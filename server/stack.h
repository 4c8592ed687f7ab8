#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <frazil/array.h>

// Tensors of several requests as one, and one as several.
namespace frazil::server {

/// Where a tensor has its requests, and where these may have different extents.
struct StackAxes {
  std::size_t batch = 0;
  std::optional<std::size_t> padded;
  double padding = 0;  ///< the value of what is added
};

/// Whether tensors of the type may have a padded axis.
bool can_be_padded(api::Dtype dtype);

/// Tensors one behind the other along the batch axis; along the padded axis, of a type that can be padded, the shorter
/// ones are filled up. They have equal element types, which are no strings, and equal other extents.
api::Array stacked(std::span<const api::Array> parts, const StackAxes& axes);

/// The part of `whole` at `begin` with `count` along the batch axis, and with the first `length` along the padded one.
/// A view of `whole` where its bytes lie together.
api::Array part_of(const api::Array& whole, const StackAxes& axes, std::int64_t begin, std::int64_t count,
                   std::optional<std::int64_t> length);

}  // namespace frazil::server
