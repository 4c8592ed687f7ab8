#if defined(__aarch64__)
#define FRAZIL_NEON
#define FRAZIL_ISA_NS isa_neon
#include "kernel/conv_i8_impl.h"
#endif
