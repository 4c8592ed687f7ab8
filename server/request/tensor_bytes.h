#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <frazil/array.h>

// Tensors in binary form, as in the protocol's binary data and raw contents. Elements are in row-major, little-endian
// order. BOOL is a byte 0 or 1. Each element of BYTES is preceded by its length as four bytes.
namespace frazil::server {

inline constexpr std::size_t kMaxAxes = 64;  ///< largest rank of a tensor in a request

/// Returns the number of elements of a shape. Throws Refusal (bad_request) for a negative extent and for more than
/// `most`, the bytes of the request. `what` names the tensor.
std::uint64_t elements_of(const api::Sizes& sizes, std::uint64_t most, const std::string& what);

/// Returns a tensor with `count` elements, which must match its shape. It is a view of the bytes that shares
/// `keep_alive`, except for strings, which are copied. Throws Refusal (bad_request) for bytes that do not match.
api::Array tensor_from(api::Dtype dtype, api::Sizes sizes, std::uint64_t count, std::string_view bytes,
                       const std::string& what, std::shared_ptr<const void> keep_alive = nullptr);

/// Returns the size of a tensor in binary form.
std::uint64_t binary_size(const api::Array& array);
void append_bytes(std::string& to, const api::Array& array);

}  // namespace frazil::server
