#include "ops/registry.h"

#include "ops/attention.h"
#include "ops/contraction.h"
#include "ops/control.h"
#include "ops/elementwise_logic.h"
#include "ops/elementwise_math.h"
#include "ops/elementwise_nn.h"
#include "ops/index.h"
#include "ops/norm.h"
#include "ops/recurrent.h"
#include "ops/sampling.h"
#include "ops/sequence.h"
#include "ops/view.h"

namespace frazil {

void link_operators() {}

}  // namespace frazil
