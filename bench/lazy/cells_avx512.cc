#define FRAZIL_ISA_NS isa_avx512
#include "bench/lazy/cells_impl.h"
