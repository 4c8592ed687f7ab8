#pragma once

#include "kernel/gemm_kernel.h"

// Rows [begin, end) of a product of bytes, per instruction set; sums of 32 bits wrap.
#define FRAZIL_X(ns)                                                                                               \
  namespace frazil::kernel::ns {                                                                                   \
  void gemm_i8_rows(const GemmCall& g, bool signed_a, bool signed_b, std::int64_t begin, std::int64_t end) noexcept; \
  }
FRAZIL_X(isa_base)
#if defined(__x86_64__)
FRAZIL_X(isa_avx2)
FRAZIL_X(isa_avx512)
#endif
#undef FRAZIL_X
