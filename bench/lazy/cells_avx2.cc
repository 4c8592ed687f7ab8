#define FRAZIL_ISA_NS isa_avx2
#include "bench/lazy/cells_impl.h"
