#pragma once

#include <cstring>

#include <frazil/array.h>

namespace frazil::test {

/// Whether two tensors have the same type, extents and bytes.
inline bool same(const api::Array& a, const api::Array& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

}  // namespace frazil::test
