#if defined(__x86_64__)
#define FRAZIL_ISA_NS isa_avx512
#include "kernel/nbits_impl.h"
#include "kernel/nbits_product_impl.h"
#endif
