#define FRAZIL_ISA_NS isa_base
#include "kernel/conv_i8_impl.h"
