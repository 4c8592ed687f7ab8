#define FRAZIL_ISA_NS isa_base
#include "kernel/select_impl.h"
