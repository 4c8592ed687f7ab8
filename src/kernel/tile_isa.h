#pragma once

#include "kernel/tile.h"

// The functions that each compilation of tile_impl.h exports.
#define FRAZIL_X(ns)                                              \
  namespace frazil::kernel::ns {                                  \
  TileFn find_tile(ScalarOp op, Elem elem, unsigned scalar_mask); \
  TileFn find_cast(Elem from, Elem to);                           \
  }
FRAZIL_X(isa_base)
#if defined(__x86_64__)
FRAZIL_X(isa_avx2)
FRAZIL_X(isa_avx512)
#endif
#undef FRAZIL_X
