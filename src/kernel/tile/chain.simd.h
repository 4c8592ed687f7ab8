#pragma once

#include "kernel/simd/isa_list.h"
#include "kernel/tile/chain.h"

// The function that each compilation of chain.simd.cc exports.
#define FRAZIL_X(ns)                                                                                                 \
  namespace frazil::kernel::ns {                                                                                     \
  void chain(const ChainStep* first, const ChainStep* past, const void** operands, void** results, std::int64_t n,   \
             const ChainRows& rows);                                                                                 \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X
