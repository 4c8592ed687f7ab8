#pragma once

#include "code/abi/abi.h"
#include "code/product/product_entry.h"
#include "plan/fused.h"
#include "plan/kernel_params.h"

namespace frazil::code {

/// The hand-written code of a kernel step, or tier 0's of a fused kernel. `fused` is the kernel that params::Fused
/// names; `native` has machine code for its body. Nothing for families that the session runs itself (reference, opaque,
/// pack).
std::shared_ptr<const KernelEntry> hand_entry(const KernelParams& params,
                                              const std::shared_ptr<const FusedKernel>& fused, std::uint32_t inputs,
                                              const std::shared_ptr<NativeSource>& native = nullptr);

// One per family; private to code/*_entr*.cc.
KernelEntry tile_entry(const FusedKernel& kernel, const std::shared_ptr<NativeSource>& native);
KernelEntry matmul_entry(ProductParams<params::MatMul> params);
KernelEntry gemm_entry(ProductParams<params::Gemm> params);
KernelEntry conv_entry(ProductParams<params::Conv> params);
KernelEntry conv_nhwc_entry(ProductParams<params::Conv> params);
KernelEntry conv_integer_entry(ProductParams<params::Conv> params);
KernelEntry conv_integer_nhwc_entry(ProductParams<params::Conv> params);
KernelEntry copy_entry();
KernelEntry fill_entry();
KernelEntry edges_entry(const params::Edges& params);
KernelEntry matmul_nbits_entry(const params::MatMulNBits& params);
KernelEntry conv_transpose_entry(const params::ConvTranspose& params);
KernelEntry max_pool_entry(const params::MaxPool& params);
KernelEntry average_pool_entry(const params::AveragePool& params);
KernelEntry max_pool_nhwc_entry(const params::MaxPool& params);
KernelEntry average_pool_nhwc_entry(const params::AveragePool& params);
KernelEntry global_pool_entry(const params::GlobalPool& params);
KernelEntry reduce_entry(const params::Reduce& params);
KernelEntry arg_reduce_entry(const params::ArgReduce& params);
KernelEntry softmax_entry(const params::Softmax& params);
KernelEntry layer_norm_entry(const params::LayerNorm& params);
KernelEntry batch_norm_entry(const params::BatchNorm& params);
KernelEntry lstm_entry(const params::Lstm& params);
KernelEntry gru_entry(const params::Gru& params);
KernelEntry attention_entry(const params::Attention& params);
KernelEntry rotary_entry(const params::Rotary& params);
KernelEntry contraction_entry(const params::Contraction& params, const std::shared_ptr<NativeSource>& native);

}  // namespace frazil::code
