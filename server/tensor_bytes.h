#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <frazil/array.h>

// Tensors in binary form, as the protocol's binary data and raw contents have them: elements in row-major order, lowest
// byte first; BOOL a byte 0 or 1; of BYTES each element with its length in front, as four bytes.
namespace frazil::server {

inline constexpr std::size_t kMostAxes = 64;  ///< of a tensor in a request

/// The number of elements of a shape. Throws Refusal (bad_request) for a negative extent and for more than `most`, the
/// bytes that the request has. `what` names the tensor.
std::uint64_t elements_of(const api::Sizes& sizes, std::uint64_t most, const std::string& what);

/// A tensor of `count` elements, the number that its shape has. It is a view of the bytes, except for strings, and
/// holds `keep_alive` as long as it needs them. Throws Refusal (bad_request) for bytes that are not its elements.
api::Array tensor_from(api::Dtype dtype, api::Sizes sizes, std::uint64_t count, std::string_view bytes,
                       const std::string& what, std::shared_ptr<const void> keep_alive = nullptr);

/// Size of a tensor in binary form.
std::uint64_t binary_size(const api::Array& array);
void append_bytes(std::string& to, const api::Array& array);

}  // namespace frazil::server
