#if defined(__x86_64__)
#define FRAZIL_ISA_NS isa_avx512
#include "kernel/pool_nhwc_impl.h"
#endif
