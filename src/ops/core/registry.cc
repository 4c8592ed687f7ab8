#include "ops/core/registry.h"

#include "ir/op/define.h"
#undef FRAZIL_REGISTER_OP
#define FRAZIL_REGISTER_OP(NAME) \
  inline const OpRegistration NAME##_registration { NAME }

#include "ops/contraction/channels_last.h"
#include "ops/contraction/contraction.h"
#include "ops/contraction/linalg.h"
#include "ops/control/control.h"
#include "ops/control/sequence.h"
#include "ops/core/bound.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/generic/generic.h"
#include "ops/image/decode.h"
#include "ops/image/image.h"
#include "ops/image/sample.h"
#include "ops/image/sampling.h"
#include "ops/index/cumulative.h"
#include "ops/index/index.h"
#include "ops/microsoft/activation.h"
#include "ops/microsoft/alias.h"
#include "ops/microsoft/attention.h"
#include "ops/microsoft/group_query.h"
#include "ops/microsoft/inverse.h"
#include "ops/microsoft/norm.h"
#include "ops/microsoft/product.h"
#include "ops/microsoft/qlinear.h"
#include "ops/microsoft/quant.h"
#include "ops/ml/feature.h"
#include "ops/ml/label.h"
#include "ops/ml/linear.h"
#include "ops/ml/map.h"
#include "ops/ml/svm.h"
#include "ops/ml/tree.h"
#include "ops/nn/attend.h"
#include "ops/nn/attention.h"
#include "ops/nn/loss.h"
#include "ops/nn/norm.h"
#include "ops/nn/quant.h"
#include "ops/nn/recurrent.h"
#include "ops/nn/training.h"
#include "ops/random/random.h"
#include "ops/signal/signal.h"
#include "ops/text/text.h"
#include "ops/text/tfidf.h"
#include "ops/view/bit_cast.h"
#include "ops/view/view.h"

namespace frazil {

void link_operators() {}

}  // namespace frazil
