#pragma once

#include "kernel/row/reduce.h"
#include "kernel/simd/isa_list.h"

// The functions of reduce.simd.cc for each instruction set. They return true if the element type is supported.
#define FRAZIL_X(ns)                                                                                           \
  namespace frazil::kernel::ns {                                                                               \
  bool reduce_run(Reduce op, Elem elem, const void* x, void* y, std::int64_t outer, std::int64_t extent,       \
                  std::int64_t inner) noexcept;                                                                \
  bool arg_reduce_run(Arg op, bool last, Elem elem, const void* x, std::int64_t* y, std::int64_t outer,        \
                      std::int64_t extent, std::int64_t inner) noexcept;                                       \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X
