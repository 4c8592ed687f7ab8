#define FRAZIL_ISA_NS isa_base
#include "kernel/nbits_impl.h"
