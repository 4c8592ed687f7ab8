#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/limits/execution_limits.h"
#include "base/value/error.h"
#include "ir/op/space.h"
#include "tensor/tensor.h"

// Moves of elements of any type.
namespace frazil::ref {

/// The value of a constant expression; an internal error for another.
Result<std::int64_t> number(Dim d);

/// The tensor when it is contiguous and aligned, else a copy.
Result<Tensor> ready(const Tensor& tensor);
/// Copies elements [from, from + count) of `src` to [to, to + count) of `dst`; both are contiguous and of one type.
void copy_elements(const Tensor& src, std::int64_t from, Tensor& dst, std::int64_t to, std::int64_t count);

/// Applies the map to contiguous inputs; an absent input is undefined. Precondition: dims are constant, else
/// Code::internal.
Result<Tensor> run_view(const ViewMap& map, std::span<const Tensor> inputs);

/// Slice number `at` of one axis, with the axis removed. A negative axis counts from the end; with `reversed`, so does
/// `at`.
Result<Tensor> slice(const Tensor& tensor, std::int64_t axis, std::int64_t at, bool reversed);

/// Collects a scan output, one tensor per iteration. The list counts against the memory limit.
class Gathered {
 public:
  bool empty() const { return parts_.empty(); }
  /// Code::bad_input when the extents differ from the previous part's.
  Status add(const Tensor& part);
  /// The parts stacked along a new axis of the result. Precondition: there is at least one.
  Result<Tensor> stack(std::int64_t axis, bool reversed) const;

 private:
  std::vector<Tensor> parts_;
  MemoryCharge charge_{};
};

}  // namespace frazil::ref
