#pragma once

#include "kernel/plain_gemm.h"

// The functions that plain_gemm exports per instruction set.
#define FRAZIL_X(ns)                                                               \
  namespace frazil::kernel::ns {                                                   \
  bool plain_gemm_run(Elem elem, const PlainGemm& g, std::byte* scratch) noexcept; \
  }
FRAZIL_X(isa_base)
#if defined(__x86_64__)
FRAZIL_X(isa_avx2)
FRAZIL_X(isa_avx512)
#endif
#undef FRAZIL_X
