#if defined(__x86_64__)
#define FRAZIL_ISA_NS isa_avx512bf16
#include "kernel/gemm_16_impl.h"
#endif
