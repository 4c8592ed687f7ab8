#define FRAZIL_ISA_NS isa_base
#include "kernel/reduce_impl.h"
