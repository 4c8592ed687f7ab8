#pragma once

#include "kernel/nbits.h"

// The functions that nbits exports per instruction set.
#define FRAZIL_X(ns)                                                  \
  namespace frazil::kernel::ns {                                      \
  void unpack_row_run(const PackedRow& row, float* to) noexcept; \
  }
FRAZIL_X(isa_base)
#if defined(__x86_64__)
FRAZIL_X(isa_avx2)
FRAZIL_X(isa_avx512)
#endif
#undef FRAZIL_X
