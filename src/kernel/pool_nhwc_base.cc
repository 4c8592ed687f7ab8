#define FRAZIL_ISA_NS isa_base
#include "kernel/pool_nhwc_impl.h"
