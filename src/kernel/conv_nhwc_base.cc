#define FRAZIL_ISA_NS isa_base
#include "kernel/conv_nhwc_impl.h"
#include "kernel/depthwise_impl.h"
#include "kernel/winograd_impl.h"
