#define FRAZIL_ISA_NS isa_base
#include "kernel/rows_impl.h"
