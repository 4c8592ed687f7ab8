#define FRAZIL_ISA_NS isa_base
#include "kernel/plain_gemm_impl.h"
