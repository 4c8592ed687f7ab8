#include "exec/codes.h"

namespace frazil {

const KernelCode* code_for(Kernel kernel) {
  switch (kernel) {
    case Kernel::tile: return &kTileCode;
    case Kernel::copy: return &kCopyCode;
    case Kernel::fill: return &kFillCode;
    case Kernel::edges: return &kEdgesCode;
    case Kernel::matmul: return &kMatMulCode;
    case Kernel::gemm: return &kGemmCode;
    case Kernel::plain: return &kPlainProductCode;
    case Kernel::nbits: return &kNbitsProductCode;
    case Kernel::conv: return &kConvCode;
    case Kernel::max_pool: return &kMaxPoolCode;
    case Kernel::average_pool: return &kAveragePoolCode;
    case Kernel::global_pool: return &kGlobalPoolCode;
    case Kernel::reduce: return &kReduceCode;
    case Kernel::arg_reduce: return &kArgReduceCode;
    case Kernel::softmax: return &kSoftmaxCode;
    case Kernel::layer_norm: return &kLayerNormCode;
    case Kernel::batch_norm: return &kBatchNormCode;
    case Kernel::lstm: return &kLstmCode;
    case Kernel::gru: return &kGruCode;
    case Kernel::attention: return &kAttentionCode;
    case Kernel::rotary: return &kRotaryCode;
    case Kernel::reference:
    case Kernel::pack:
    case Kernel::opaque: return nullptr;
  }
  return nullptr;
}

}  // namespace frazil
