#pragma once

#include "exec/kernel_code.h"

namespace frazil {

// One per Kernel that is not the session's own; parameters as listed there.
extern const KernelCode kTileCode, kCopyCode, kFillCode, kEdgesCode;                                // moves and scalars
extern const KernelCode kMatMulCode, kGemmCode, kPlainProductCode, kNbitsProductCode;               // products
extern const KernelCode kConvCode, kMaxPoolCode, kAveragePoolCode, kGlobalPoolCode;                 // windows
extern const KernelCode kReduceCode, kArgReduceCode, kSoftmaxCode, kLayerNormCode, kBatchNormCode;  // rows
extern const KernelCode kLstmCode, kGruCode;                                                        // recurrent
extern const KernelCode kAttentionCode, kRotaryCode;

}  // namespace frazil
