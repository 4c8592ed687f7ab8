#include "code/entries.h"

#include <optional>

namespace frazil::code {
namespace {

using Native = std::shared_ptr<NativeSource>;

/// The entries of families that are no products.
struct HandEntries {
  std::optional<KernelEntry> operator()(const params::Copy&) const { return copy_entry(); }
  std::optional<KernelEntry> operator()(const params::Fill&) const { return fill_entry(); }
  std::optional<KernelEntry> operator()(const params::Edges& p) const { return edges_entry(p); }
  std::optional<KernelEntry> operator()(const params::MatMulNBits& p) const { return matmul_nbits_entry(p); }
  std::optional<KernelEntry> operator()(const params::ConvTranspose& p) const { return conv_transpose_entry(p); }
  std::optional<KernelEntry> operator()(const params::MaxPool& p) const { return max_pool_entry(p); }
  std::optional<KernelEntry> operator()(const params::AveragePool& p) const { return average_pool_entry(p); }
  std::optional<KernelEntry> operator()(const params::GlobalPool& p) const { return global_pool_entry(p); }
  std::optional<KernelEntry> operator()(const params::Reduce& p) const { return reduce_entry(p); }
  std::optional<KernelEntry> operator()(const params::ArgReduce& p) const { return arg_reduce_entry(p); }
  std::optional<KernelEntry> operator()(const params::Softmax& p) const { return softmax_entry(p); }
  std::optional<KernelEntry> operator()(const params::LayerNorm& p) const { return layer_norm_entry(p); }
  std::optional<KernelEntry> operator()(const params::BatchNorm& p) const { return batch_norm_entry(p); }
  std::optional<KernelEntry> operator()(const params::Lstm& p) const { return lstm_entry(p); }
  std::optional<KernelEntry> operator()(const params::Gru& p) const { return gru_entry(p); }
  std::optional<KernelEntry> operator()(const params::Attention& p) const { return attention_entry(p); }
  std::optional<KernelEntry> operator()(const params::Rotary& p) const { return rotary_entry(p); }
  std::optional<KernelEntry> operator()(const params::Contraction& p) const { return contraction_entry(p, native); }
  std::optional<KernelEntry> operator()(const params::MatMul& p) const {
    return matmul_entry({.params = p, .operands = all});
  }
  std::optional<KernelEntry> operator()(const params::Gemm& p) const {
    return gemm_entry({.params = p, .operands = all});
  }
  std::optional<KernelEntry> operator()(const params::Conv& p) const {
    return conv_entry({.params = p, .operands = all});
  }
  std::optional<KernelEntry> operator()(const auto&) const { return std::nullopt; }

  OperandRange all;  ///< of the call
  const Native& native;
};

TileCode tiles_of(const FusedKernel& kernel, const Native& native) {
  TileCode code = compile_tiles(kernel, body_operands(kernel));
  code.native = native;
  return code;
}

template <class P>
ProductParams<P> product_of(const FusedKernel& kernel, const Native& native) {
  const Producer& producer = *kernel.producer;
  ProductParams<P> product{.params = std::get<P>(producer.params), .operands = producer.operands};
  product.into = producer.into;
  product.passed = producer.passed;
  TileCode body = tiles_of(kernel, native);
  if (!body.is_trivial()) product.epilogue = EpilogueCode{std::move(body), body_operands(kernel), producer.into};
  if (producer.prologue) {
    product.prologue = PrologueCode{tiles_of(*producer.prologue, native), producer.prologue_operands};
  }
  return product;
}

std::optional<KernelEntry> fused_entry(const FusedKernel& kernel, const Native& native) {
  if (!kernel.producer) return tile_entry(kernel, native);
  switch (kernel_of(kernel.producer->params)) {
    case Kernel::matmul: return matmul_entry(product_of<params::MatMul>(kernel, native));
    case Kernel::gemm: return gemm_entry(product_of<params::Gemm>(kernel, native));
    case Kernel::conv: return conv_entry(product_of<params::Conv>(kernel, native));
    default: return std::nullopt;
  }
}

}  // namespace

std::shared_ptr<const KernelEntry> hand_entry(const KernelParams& params,
                                              const std::shared_ptr<const FusedKernel>& fused, std::uint32_t inputs,
                                              const std::shared_ptr<NativeSource>& native) {
  auto entry = fused != nullptr ? fused_entry(*fused, native) : std::visit(HandEntries{{0, inputs}, native}, params);
  return entry ? std::make_shared<const KernelEntry>(*std::move(entry)) : nullptr;
}

}  // namespace frazil::code
