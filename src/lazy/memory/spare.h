#pragma once

#include <cstddef>

#include "tensor/tensor.h"

namespace frazil::lazy {

/// A tensor whose memory may be that of one that was given back on this thread: large ones are fresh from the system
/// otherwise, page by page.
Result<Tensor> spare_tensor(Elem elem, Sizes sizes);

/// Gives a tensor's memory back, if nothing else has it. Keeps a bounded amount per thread.
void give_back(Tensor tensor) noexcept;

}  // namespace frazil::lazy
