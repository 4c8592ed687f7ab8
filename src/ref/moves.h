#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/limits/execution_limits.h"
#include "base/value/error.h"
#include "ir/op/space.h"
#include "tensor/tensor.h"

// Operations that move elements of any type.
namespace frazil::ref {

/// Returns the value of a constant expression; Code::internal for any other.
Result<std::int64_t> number(Dim d);

/// Returns the tensor if it is contiguous and aligned, otherwise a copy.
Result<Tensor> ready(const Tensor& tensor);
/// Copies elements [from, from + count) of `src` to [to, to + count) of `dst`; both are contiguous and of one type.
void copy_elements(const Tensor& src, std::int64_t from, Tensor& dst, std::int64_t to, std::int64_t count);

/// Applies the map to contiguous inputs. An absent input is an undefined tensor. Returns Code::internal if a dim is not
/// constant.
Result<Tensor> run_view(const ViewMap& map, std::span<const Tensor> inputs);

/// Returns slice number `at` along one axis, with the axis removed. A negative axis counts from the end; with
/// `reversed`, so does `at`.
Result<Tensor> slice(const Tensor& tensor, std::int64_t axis, std::int64_t at, bool reversed);

/// A list that collects a scan output, one tensor per iteration. The list counts against the memory limit.
class Gathered {
 public:
  bool empty() const { return parts_.empty(); }
  /// Adds a part. Returns Code::bad_input if its extents differ from those of the first part.
  Status add(const Tensor& part);
  /// Returns the parts stacked along a new axis of the result. Precondition: there is at least one part.
  Result<Tensor> stack(std::int64_t axis, bool reversed) const;

 private:
  std::vector<Tensor> parts_;
  MemoryCharge charge_{};
};

}  // namespace frazil::ref
