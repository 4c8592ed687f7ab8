#if defined(__x86_64__)
#define FRAZIL_ISA_NS isa_avx512
#include "kernel/chain_impl.h"
#endif
