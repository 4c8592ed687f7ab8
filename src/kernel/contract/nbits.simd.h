#pragma once

#include "kernel/contract/nbits.h"
#include "kernel/simd/isa_list.h"

// The functions of nbits.simd.cc for each instruction set.
#define FRAZIL_X(ns)                                                  \
  namespace frazil::kernel::ns {                                      \
  void unpack_row_run(const PackedRow& row, float* to) noexcept; \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X

#if defined(__x86_64__)
namespace frazil::kernel::isa_avx512 {
void nbits_columns(const NBitsProduct& p, const float* arranged, std::int64_t begin, std::int64_t end,
                   float* room) noexcept;
}
#endif
