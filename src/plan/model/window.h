#pragma once

#include <cstdint>

namespace frazil {

/// The sliding windows of a 1-D or 2-D convolution or pool. Pairs are (h, w); 1-D operators have h = 1.
struct Window {
  enum class Padding : std::uint8_t { explicit_pads, same_upper, same_lower, valid };
  std::int64_t kernel[2] = {1, 1};  ///< 0, 0: the extents of the weights
  std::int64_t stride[2] = {1, 1}, dilation[2] = {1, 1}, begin[2] = {0, 0}, end[2] = {0, 0};
  Padding padding = Padding::explicit_pads;

  /// Returns the begin pad of axis k for concrete extents.
  std::int64_t pad(int k, std::int64_t in, std::int64_t out, std::int64_t kernel_extent) const;
  std::int64_t end_pad(int k, std::int64_t in, std::int64_t out, std::int64_t kernel_extent) const;
  bool operator==(const Window&) const = default;

  static void fields(auto& self, auto&& v) {
    v("kernel", self.kernel);
    v("stride", self.stride);
    v("dilation", self.dilation);
    v("begin", self.begin);
    v("end", self.end);
    v("padding", self.padding);
  }
};

}  // namespace frazil
