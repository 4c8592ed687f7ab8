#define FRAZIL_ISA_NS isa_base
#include "bench/lazy/cells_impl.h"
