#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace frazil {

/// Walks the elements of a strided view in row-major order. Precondition: the view has at least one element.
class StridedWalk {
 public:
  StridedWalk(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);

  /// Offset of the current element from the first, in elements.
  std::int64_t offset() const { return offset_; }
  /// After the last element it is at the first again.
  void next();

 private:
  std::span<const std::int64_t> sizes_;
  std::span<const std::int64_t> strides_;
  Sizes index_;
  std::int64_t offset_ = 0;
};

/// Offset in elements of the element with row-major number `i`.
std::int64_t offset_of(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides, std::int64_t i);

/// Copies a strided view of `count` elements of `width` bytes (not strings) to contiguous `dst`.
void pack_bytes(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides, std::size_t width,
                const std::byte* src, std::byte* dst);

/// "[1,0,2]": the index with row-major number `i`.
std::string index_str(std::span<const std::int64_t> sizes, std::int64_t i);

}  // namespace frazil
