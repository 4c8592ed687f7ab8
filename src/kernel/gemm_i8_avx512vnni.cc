#if defined(__x86_64__)
#define FRAZIL_ISA_NS isa_avx512vnni
#include "kernel/gemm_i8_impl.h"
#endif
