#pragma once

#include "kernel/simd/isa_list.h"
#include "kernel/tile/tile.h"

// The functions that each compilation of tile.simd.cc exports.
#define FRAZIL_X(ns)                                              \
  namespace frazil::kernel::ns {                                  \
  TileFn find_tile(ScalarOp op, Elem elem, unsigned scalar_mask); \
  TileFn find_cast(Elem from, Elem to);                           \
  TileFn find_quantise(Elem to);                                  \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X
