#pragma once

#include <cstdint>
#include <string>

#include "bench/host_tensor.h"

namespace bench {

/// A convolution of square images and windows. With stride 1, padding keeps the image's size.
struct Convolution {
  const char* name;
  std::int64_t from, to, size, window, stride;

  std::int64_t pad() const { return window / 2; }
  std::int64_t out() const { return (size + 2 * pad() - window) / stride + 1; }
  double operations() const { return 2.0 * static_cast<double>(from * to * window * window * out() * out()); }
};
/// Writes a model with this node between two Transposes. Input "x" and output "y" have the weight's type and the
/// channels last, the layout that suits the kernels.
void write_convolution(const std::string& path, const Convolution& c, const HostTensor& weight);

}  // namespace bench
