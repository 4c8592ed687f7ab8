#pragma once

#include "kernel/chain.h"
#include "kernel/isa_list.h"

// The function that each compilation of chain_impl.h exports.
#define FRAZIL_X(ns)                                                                                                 \
  namespace frazil::kernel::ns {                                                                                     \
  void chain(const ChainStep* first, const ChainStep* past, const void** operands, void** results, std::int64_t n,   \
             const ChainRows& rows);                                                                                 \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X
