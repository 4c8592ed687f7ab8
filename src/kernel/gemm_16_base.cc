#define FRAZIL_ISA_NS isa_base
#include "kernel/gemm_16_impl.h"
