#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tensor/tensor.h"

namespace frazil {

/// An iterator over the elements of a strided view in row-major order. Precondition: the view has at least one element.
class StridedWalk {
 public:
  StridedWalk(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);

  /// Returns the offset of the current element from the first, in elements.
  std::int64_t offset() const { return offset_; }
  /// Advances. After the last element, returns to the first.
  void next();

 private:
  std::span<const std::int64_t> sizes_;
  std::span<const std::int64_t> strides_;
  Sizes index_;
  std::int64_t offset_ = 0;
};

/// Returns the offset, in elements, of the element with row-major number `i`.
std::int64_t offset_of(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides, std::int64_t i);

/// Copies a strided view of elements of `width` bytes (not strings) to contiguous `dst`.
void pack_bytes(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides, std::size_t width,
                const std::byte* src, std::byte* dst);

/// A tensor split before `axis` into blocks of rows along that axis. Blocks may have capacity for more rows.
struct AxisRows {
  std::size_t blocks = 1;
  std::size_t row_bytes = 0;
  std::size_t rows = 0;
  AxisRows(std::size_t elem_bytes, std::span<const std::int64_t> sizes, std::size_t axis);
};
/// Returns the row-major strides of a tensor whose blocks have a capacity of `capacity` rows along `axis`.
Sizes capacity_strides(Sizes sizes, std::size_t axis, std::int64_t capacity);
/// Returns the capacity along `axis` that gives a tensor its strides; nullopt if no capacity does.
std::optional<std::int64_t> capacity_along(const Tensor& tensor, std::size_t axis);

/// Returns the index with row-major number `i`, such as "[1,0,2]".
std::string index_str(std::span<const std::int64_t> sizes, std::int64_t i);

}  // namespace frazil
