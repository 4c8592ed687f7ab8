#pragma once

#include "kernel/contract/plain_gemm.h"
#include "kernel/simd/isa_list.h"

// The functions of plain_gemm.simd.cc for each instruction set.
#define FRAZIL_X(ns)                                                               \
  namespace frazil::kernel::ns {                                                   \
  bool plain_gemm_run(Elem elem, const PlainGemm& g, std::byte* scratch) noexcept; \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X
