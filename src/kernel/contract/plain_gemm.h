#pragma once

#include <cstddef>
#include <cstdint>

#include "base/value/elem.h"

namespace frazil::kernel {

/// A product c = a * b of element types without a tuned kernel: f64, and 32- and 64-bit integers, which wrap. Strides
/// are in elements; the columns of c are contiguous. Each element is summed in the order of k, with separate
/// multiplication and addition, so that the bits are the same on every instruction set.
struct PlainGemm {
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  std::int64_t a_row = 0, a_col = 1;
  const void* b = nullptr;
  std::int64_t b_row = 0, b_col = 1;
  void* c = nullptr;
  std::int64_t c_row = 0;
};

inline constexpr std::size_t kPlainGemmScratch = std::size_t{256} << 10;

/// Computes c. `scratch` has kPlainGemmScratch bytes, aligned to 64. Returns false if the type is not supported.
bool plain_gemm(Elem elem, const PlainGemm& g, std::byte* scratch) noexcept;

}  // namespace frazil::kernel
