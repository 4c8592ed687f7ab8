#define FRAZIL_ISA_NS isa_base
#include "kernel/gemm_i8_impl.h"
