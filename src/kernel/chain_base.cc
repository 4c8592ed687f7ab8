#define FRAZIL_ISA_NS isa_base
#include "kernel/chain_impl.h"
