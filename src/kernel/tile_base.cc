#define FRAZIL_ISA_NS isa_base
#include "kernel/tile_impl.h"
