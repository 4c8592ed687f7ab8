#if defined(__x86_64__)
#define FRAZIL_ISA_NS isa_avx2
#include "kernel/conv_nhwc_impl.h"
#include "kernel/depthwise_impl.h"
#include "kernel/winograd_impl.h"
#endif
