#if defined(__aarch64__)
#define FRAZIL_NEON
#define FRAZIL_ISA_NS isa_neon
#include "kernel/conv_nhwc_impl.h"
#include "kernel/depthwise_impl.h"
#include "kernel/winograd_impl.h"
#endif
