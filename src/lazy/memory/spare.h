#pragma once

#include <cstddef>

#include "tensor/tensor.h"

namespace frazil::lazy {

/// Returns a tensor, in memory that was given back on this thread if there is any. Fresh memory of a large tensor costs
/// page faults.
Result<Tensor> spare_tensor(Elem elem, Sizes sizes);

/// Gives a tensor's memory back if nothing else uses it. Keeps a bounded amount per thread.
void give_back(Tensor tensor) noexcept;

}  // namespace frazil::lazy
