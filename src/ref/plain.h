#pragma once

#include <span>

#include "ir/op/op.h"
#include "tensor/tensor.h"

namespace frazil::ref {

/// Computes `out` by the plain body of an Elementwise form, which must exist. Reads contiguous operands with
/// broadcasting.
Status run_plain(const Elementwise& form, std::span<const Tensor> operands, const void* attrs, Tensor& out);

}  // namespace frazil::ref
