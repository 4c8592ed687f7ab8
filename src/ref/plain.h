#pragma once

#include <span>

#include "ir/op/op.h"
#include "tensor/tensor.h"

namespace frazil::ref {

/// Computes `out` by an Elementwise form's plain body, which must exist; contiguous operands are read with
/// broadcasting.
Status run_plain(const Elementwise& form, std::span<const Tensor> operands, const void* attrs, Tensor& out);

}  // namespace frazil::ref
