#pragma once

#include "kernel/select/select.h"
#include "kernel/simd/isa_list.h"

// The functions of select.simd.cc for each instruction set; contracts as in select.h. select_maxima sets maxima[j] to
// the largest key of the elements i with i % groups == j. `groups` is a multiple of 16. Elements after the last full
// group of `groups` elements are ignored.
#define FRAZIL_X(ns)                                                                                               \
  namespace frazil::kernel::ns {                                                                                   \
  std::int64_t select_between(const float* x, std::int64_t n, bool turned, std::int32_t low, std::int32_t high,    \
                              std::int64_t first, Rank* out) noexcept;                                             \
  void select_maxima(const float* x, std::int64_t n, bool turned, std::int32_t* maxima, std::int64_t groups) noexcept; \
  bool select_overlap(const BoxLanes& all, std::int64_t i, const BoxLanes& kept, std::int64_t count,               \
                      float threshold) noexcept;                                                                   \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X
