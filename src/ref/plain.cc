#include "ref/plain.h"

#include "base/thread/poll_throttle.h"

namespace frazil::ref {
namespace {

/// Returns the strides of an operand per output axis, in bytes.
Sizes byte_steps(const Tensor& operand, std::span<const std::int64_t> sizes) {
  Sizes steps(sizes.size(), 0);
  const Sizes strides = contiguous_strides(operand.sizes());
  const std::size_t skip = sizes.size() - operand.rank();
  for (std::size_t d = 0; d < operand.rank(); ++d) {
    if (operand.sizes()[d] != 1) steps[skip + d] = strides[d] * static_cast<std::int64_t>(byte_size(operand.elem()));
  }
  return steps;
}

}  // namespace

Status run_plain(const Elementwise& form, std::span<const Tensor> operands, const void* attrs, Tensor& out) {
  const Sizes& sizes = out.sizes();
  std::vector<ElementRef> at;
  std::vector<Sizes> steps;
  for (const Tensor& t : operands) {
    at.push_back({t.elem(), t.data()});
    steps.push_back(byte_steps(t, sizes));
  }
  Sizes index(sizes.size(), 0);
  const std::int64_t count = out.count();
  PollThrottle throttle;
  for (std::int64_t i = 0; i < count && !throttle.stop(16); ++i) {
    FRAZIL_CHECK(
        form.plain(at, attrs, out.elem(), out.mutable_data() + i * static_cast<std::int64_t>(byte_size(out.elem()))));
    for (std::size_t d = sizes.size(); d-- > 0;) {
      const bool carry = ++index[d] == sizes[d];
      for (std::size_t k = 0; k < at.size(); ++k) at[k].data += carry ? steps[k][d] * (1 - sizes[d]) : steps[k][d];
      if (!carry) break;
      index[d] = 0;
    }
  }
  return {};
}

}  // namespace frazil::ref
