#include "ops/elementwise_nn.h"
