#pragma once

#include "kernel/chain.h"
#include "kernel/isa_list.h"

// The function that each compilation of chain_impl.h exports.
#define FRAZIL_X(ns)                                                                                                \
  namespace frazil::kernel::ns {                                                                                    \
  void chain(const ChainStep* first, const ChainStep* past, const void* const* operands, void* const* results,      \
             std::int64_t n);                                                                                       \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X
