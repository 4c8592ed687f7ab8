#pragma once

#include <cstdint>
#include <span>

#include "base/value/elem.h"

namespace frazil::kernel {

/// A flat array of i32 or i64 indices. An index i < 0 means extent + i.
struct Indices {
  const void* data = nullptr;
  bool wide = true;
  Indices(const std::int64_t* p) noexcept : data(p), wide(true) {}
  Indices(const std::int32_t* p) noexcept : data(p), wide(false) {}
  Indices(const void* p, Elem elem) noexcept : data(p), wide(elem == Elem::i64) {}
  std::int64_t operator[](std::int64_t i) const noexcept {
    return wide ? static_cast<const std::int64_t*>(data)[i] : static_cast<const std::int32_t*>(data)[i];
  }
};

/// The gather and scatter functions return -1, or the flat position of the first index that is out of range. In the
/// latter case they write nothing. Data tensors are contiguous. Sizes named *_bytes are in bytes.

/// Gathers src[outer, extent, inner] to dst[outer, count, inner] by indices[count].
std::int64_t gather(void* dst, const void* src, std::int64_t outer, std::int64_t extent, std::int64_t inner_bytes,
                    Indices indices, std::int64_t count) noexcept;

/// Sets dst[i] = src[j] for all i < index_dims, where j is i with j[axis] = indices[i]. If index_dims[d] > src_dims[d]
/// off the axis, the first position outside is reported. Rank is at least 1.
std::int64_t gather_elements(void* dst, const void* src, std::span<const std::int64_t> src_dims, Indices indices,
                             std::span<const std::int64_t> index_dims, std::int64_t axis,
                             std::int64_t elem_size) noexcept;

/// Gathers src[batch, tuple_dims..., inner] to dst[batch, count, inner] by indices[batch, count, tuple_dims.size()].
std::int64_t gather_nd(void* dst, const void* src, std::int64_t batch, std::span<const std::int64_t> tuple_dims,
                       std::int64_t inner_bytes, Indices indices, std::int64_t count) noexcept;

enum class Scatter : std::uint8_t { none, add, mul, max, min };

/// Returns whether scatter supports the type. Scatter::none supports every type except string. The others support
/// integers, bool (add, max: or; mul, min: and), f16, bf16, f32, f64.
bool scatter_supports(Scatter op, Elem elem) noexcept;

/// Computes data[j] op= updates[i] for all i < index_dims in row-major order, where j is i with j[axis] = indices[i].
/// `data` already holds the input. Returns -1 with nothing done if not scatter_supports().
std::int64_t scatter_elements(Scatter op, Elem elem, void* data, std::span<const std::int64_t> data_dims,
                              Indices indices, const void* updates, std::span<const std::int64_t> index_dims,
                              std::int64_t axis) noexcept;

/// Computes data[indices[i], :] op= updates[i, :] for all i < count. Shapes are data[tuple_dims..., inner],
/// indices[count, tuple_dims.size()] and updates[count, inner]; `inner` is in elements.
std::int64_t scatter_nd(Scatter op, Elem elem, void* data, std::span<const std::int64_t> tuple_dims, std::int64_t inner,
                        Indices indices, std::int64_t count, const void* updates) noexcept;

}  // namespace frazil::kernel
