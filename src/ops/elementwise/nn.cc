#include "ops/elementwise/nn.h"
