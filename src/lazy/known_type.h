#pragma once

#include <span>

#include "base/elem.h"
#include "tensor/tensor.h"

namespace frazil::lazy {

/// The element type and the extents of a tensor. Interned: equal ones have one address, which stays valid.
struct KnownType {
  Elem elem = Elem::f32;
  Sizes sizes;
  std::size_t bytes = 0;  ///< of the elements
};

/// The interned type; null when too many were asked for, or their bytes cannot be counted. Thread-safe.
const KnownType* known_type(Elem elem, std::span<const std::int64_t> sizes);

}  // namespace frazil::lazy
