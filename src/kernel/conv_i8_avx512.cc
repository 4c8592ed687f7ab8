#if defined(__x86_64__)
#define FRAZIL_ISA_NS isa_avx512
#include "kernel/conv_i8_impl.h"
#endif
