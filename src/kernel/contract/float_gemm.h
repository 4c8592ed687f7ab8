#pragma once

#include <cstddef>
#include <cstdint>

#include "base/value/elem.h"
#include "kernel/contract/gemm_kernel.h"
#include "kernel/contract/product.h"

// Products of floats with a B of any strides: the implementation of find_gemm() for f32, f16 and bf16.
namespace frazil::kernel {

/// Returns the scratch in bytes for a call with these extents or fewer rows, for all strides and instruction sets.
/// Scratch and packed buffers should be, but need not be, aligned to 64 bytes.
std::size_t float_gemm_scratch(Elem elem, std::int64_t m, std::int64_t n, std::int64_t k) noexcept;

/// Computes rows [begin, end) of C. If `wide`, C of 16-bit floats is f32 and has no epilogue. Numeric class:
/// reassociated. The bits of an element depend only on (m, n, k), the strides of A and B, whether B is packed, and the
/// ISA.
void float_gemm(Elem elem, bool wide, const GemmCall& call, std::int64_t begin, std::int64_t end,
                void* scratch) noexcept;

/// Computes all of C, of f32.
inline void gemm(const GemmCall& g, void* scratch) noexcept { float_gemm(Elem::f32, false, g, 0, g.m, scratch); }

}  // namespace frazil::kernel
