#include "ops/registry.h"

#include "ir/define.h"
#undef FRAZIL_REGISTER_OP
#define FRAZIL_REGISTER_OP(NAME) \
  inline const OpRegistration NAME##_registration { NAME }

#include "ops/attend.h"
#include "ops/attention.h"
#include "ops/bit_cast.h"
#include "ops/bound.h"
#include "ops/channels_last.h"
#include "ops/contraction.h"
#include "ops/control.h"
#include "ops/cumulative.h"
#include "ops/elementwise_logic.h"
#include "ops/elementwise_math.h"
#include "ops/elementwise_nn.h"
#include "ops/generic.h"
#include "ops/image.h"
#include "ops/image_decode.h"
#include "ops/image_sample.h"
#include "ops/index.h"
#include "ops/linalg.h"
#include "ops/loss.h"
#include "ops/microsoft_activation.h"
#include "ops/microsoft_alias.h"
#include "ops/microsoft_attention.h"
#include "ops/microsoft_group_query.h"
#include "ops/microsoft_inverse.h"
#include "ops/microsoft_norm.h"
#include "ops/microsoft_product.h"
#include "ops/microsoft_qlinear.h"
#include "ops/microsoft_quant.h"
#include "ops/ml_feature.h"
#include "ops/ml_label.h"
#include "ops/ml_linear.h"
#include "ops/ml_map.h"
#include "ops/ml_svm.h"
#include "ops/ml_tree.h"
#include "ops/norm.h"
#include "ops/quant.h"
#include "ops/random.h"
#include "ops/recurrent.h"
#include "ops/sampling.h"
#include "ops/sequence.h"
#include "ops/signal.h"
#include "ops/text.h"
#include "ops/text_tfidf.h"
#include "ops/training.h"
#include "ops/view.h"

namespace frazil {

void link_operators() {}

}  // namespace frazil
