#if defined(__x86_64__)
#if !defined(__AVX2__)
#error "compile with -mavx2 -mfma -mf16c"
#endif

#define FRAZIL_ISA_NS isa_avx2
#include "kernel/tile_impl.h"
#endif
