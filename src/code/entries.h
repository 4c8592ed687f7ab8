#pragma once

#include "code/abi/abi.h"
#include "code/product/product_entry.h"
#include "plan/model/fused.h"
#include "plan/model/kernel_params.h"

namespace frazil::code {

/// Returns the hand-written code of a kernel step, or that of tier 0 for a fused kernel. `fused` is the kernel that
/// params::Fused names; `native` provides machine code for its body. Returns null for families that the session runs
/// itself (reference, opaque, pack).
std::shared_ptr<const KernelEntry> hand_entry(const KernelParams& params,
                                              const std::shared_ptr<const FusedKernel>& fused, std::uint32_t inputs,
                                              const std::shared_ptr<NativeSource>& native = nullptr);

// One function per family; private to code/*/*_entr*.cc.
KernelEntry tile_entry(const FusedKernel& kernel, const std::shared_ptr<NativeSource>& native);
KernelEntry entry_of(ProductParams<params::MatMul> params);
KernelEntry entry_of(ProductParams<params::Gemm> params);
KernelEntry entry_of(ProductParams<params::Conv> params);
KernelEntry conv_nhwc_entry(ProductParams<params::Conv> params);
KernelEntry conv_integer_entry(ProductParams<params::Conv> params);
KernelEntry conv_integer_nhwc_entry(ProductParams<params::Conv> params);
KernelEntry entry_of(const params::Copy& params);
KernelEntry entry_of(const params::Fill& params);
KernelEntry entry_of(const params::Edges& params);
KernelEntry entry_of(const params::MatMulNBits& params);
KernelEntry entry_of(const params::ConvTranspose& params);
KernelEntry entry_of(const params::MaxPool& params);
KernelEntry entry_of(const params::AveragePool& params);
KernelEntry max_pool_nhwc_entry(const params::MaxPool& params);
KernelEntry average_pool_nhwc_entry(const params::AveragePool& params);
KernelEntry entry_of(const params::GlobalPool& params);
KernelEntry entry_of(const params::Reduce& params);
KernelEntry entry_of(const params::ArgReduce& params);
KernelEntry entry_of(const params::Softmax& params);
KernelEntry entry_of(const params::LayerNorm& params);
KernelEntry entry_of(const params::BatchNorm& params);
KernelEntry entry_of(const params::Lstm& params);
KernelEntry entry_of(const params::Gru& params);
KernelEntry entry_of(const params::Attention& params);
KernelEntry entry_of(const params::Rotary& params);
KernelEntry entry_of(const params::Contraction& params, const std::shared_ptr<NativeSource>& native);

}  // namespace frazil::code
