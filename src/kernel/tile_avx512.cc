#if defined(__x86_64__)
#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512DQ__) || !defined(__AVX512VL__)
#error "compile with -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c"
#endif

#define FRAZIL_ISA_NS isa_avx512
#include "kernel/tile_impl.h"
#endif
