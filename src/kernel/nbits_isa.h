#pragma once

#include "kernel/isa_list.h"
#include "kernel/nbits.h"

// The functions that nbits exports per instruction set.
#define FRAZIL_X(ns)                                                  \
  namespace frazil::kernel::ns {                                      \
  void unpack_row_run(const PackedRow& row, float* to) noexcept; \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X
