#if defined(__aarch64__)
#define FRAZIL_NEON
#define FRAZIL_ISA_NS isa_neon
#include "kernel/chain_impl.h"
#endif
