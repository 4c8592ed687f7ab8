#include "plan/model/window.h"

#include <algorithm>

#include "sym/saturate.h"

namespace frazil {
namespace {

/// Returns the sum of both pads, for modes that choose them.
std::int64_t total_pad(const Window& w, int k, std::int64_t in, std::int64_t out, std::int64_t kernel_extent) {
  const std::int64_t steps = sym::sat_mul(out - 1, w.stride[k]), reach = sym::sat_mul(kernel_extent - 1, w.dilation[k]);
  return std::max<std::int64_t>(0, sym::sat_sub(sym::sat_add(sym::sat_add(steps, reach), 1), in));
}

}  // namespace

std::int64_t Window::pad(int k, std::int64_t in, std::int64_t out, std::int64_t kernel_extent) const {
  if (padding == Padding::explicit_pads) return begin[k];
  if (padding == Padding::valid) return 0;
  const std::int64_t total = total_pad(*this, k, in, out, kernel_extent);
  return padding == Padding::same_upper ? total / 2 : total - total / 2;
}

std::int64_t Window::end_pad(int k, std::int64_t in, std::int64_t out, std::int64_t kernel_extent) const {
  if (padding == Padding::explicit_pads) return end[k];
  if (padding == Padding::valid) return 0;
  return total_pad(*this, k, in, out, kernel_extent) - pad(k, in, out, kernel_extent);
}

}  // namespace frazil
