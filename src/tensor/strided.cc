#include "tensor/strided.h"

#include <algorithm>
#include <cstring>

#include <fmt/ranges.h>

namespace frazil {
namespace {

template <std::size_t width>
void pack_rows(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides, const std::byte* src,
               std::byte* dst) {
  const std::size_t outer_rank = sizes.size() - 1;
  const auto inner = static_cast<std::size_t>(sizes.back());
  const std::int64_t step = strides.back();
  const std::int64_t rows = element_count(sizes.first(outer_rank));
  StridedWalk walk(sizes.first(outer_rank), strides.first(outer_rank));
  for (std::int64_t row = 0; row < rows; ++row, walk.next()) {
    const std::byte* from = src + walk.offset() * static_cast<std::int64_t>(width);
    if (step == 1) {
      std::memcpy(dst, from, inner * width);
      dst += inner * width;
      continue;
    }
    for (std::size_t i = 0; i < inner; ++i, dst += width, from += step * static_cast<std::int64_t>(width)) {
      std::memcpy(dst, from, width);
    }
  }
}

}  // namespace

StridedWalk::StridedWalk(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides)
    : sizes_(sizes), strides_(strides), index_(sizes.size(), 0) {}

void StridedWalk::next() {
  for (std::size_t axis = sizes_.size(); axis-- > 0;) {
    offset_ += strides_[axis];
    if (++index_[axis] < sizes_[axis]) return;
    offset_ -= strides_[axis] * sizes_[axis];
    index_[axis] = 0;
  }
}

std::int64_t offset_of(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides, std::int64_t i) {
  std::int64_t offset = 0;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    offset += i % sizes[axis] * strides[axis];
    i /= sizes[axis];
  }
  return offset;
}

void pack_bytes(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides, std::size_t width,
                const std::byte* src, std::byte* dst) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return;
  if (sizes.empty()) {
    std::memcpy(dst, src, width);
    return;
  }
  switch (width) {
    case 1: return pack_rows<1>(sizes, strides, src, dst);
    case 2: return pack_rows<2>(sizes, strides, src, dst);
    case 4: return pack_rows<4>(sizes, strides, src, dst);
    case 8: return pack_rows<8>(sizes, strides, src, dst);
    default: return pack_rows<16>(sizes, strides, src, dst);
  }
}

AxisRows::AxisRows(std::size_t elem_bytes, std::span<const std::int64_t> sizes, std::size_t axis)
    : row_bytes(elem_bytes), rows(static_cast<std::size_t>(std::max<std::int64_t>(sizes[axis], 0))) {
  const auto times = [](std::size_t& product, std::int64_t by) {
    if (__builtin_mul_overflow(product, static_cast<std::size_t>(std::max<std::int64_t>(by, 0)), &product)) {
      product = SIZE_MAX;
    }
  };
  for (std::size_t d = 0; d < axis; ++d) times(blocks, sizes[d]);
  for (std::size_t d = axis + 1; d < sizes.size(); ++d) times(row_bytes, sizes[d]);
}

Sizes capacity_strides(Sizes sizes, std::size_t axis, std::int64_t capacity) {
  sizes[axis] = capacity;
  return contiguous_strides(sizes);
}

std::optional<std::int64_t> capacity_along(const Tensor& tensor, std::size_t axis) {
  const Sizes &sizes = tensor.sizes(), &strides = tensor.strides();
  if (tensor.contiguous()) return sizes[axis];
  std::int64_t row = 1;
  for (std::size_t d = axis + 1; d < sizes.size(); ++d) row *= sizes[d];
  for (std::size_t d = axis; d-- > 0;) {
    if (sizes[d] == 1) continue;
    const std::int64_t capacity = strides[d] / row;
    const Sizes expected = capacity_strides(sizes, axis, capacity);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (sizes[k] != 1 && strides[k] != expected[k]) return std::nullopt;
    }
    return capacity >= sizes[axis] ? std::optional(capacity) : std::nullopt;
  }
  return std::nullopt;
}

std::string index_str(std::span<const std::int64_t> sizes, std::int64_t i) {
  Sizes index(sizes.size(), 0);
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    index[axis] = i % sizes[axis];
    i /= sizes[axis];
  }
  return fmt::format("[{}]", fmt::join(index, ","));
}

}  // namespace frazil
