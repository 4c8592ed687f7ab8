#include "code/entries.h"

#include <concepts>
#include <optional>
#include <utility>

namespace frazil::code {
namespace {

using Native = std::shared_ptr<NativeSource>;

template <class P>
concept IsProduct = requires(ProductParams<P> product) { entry_of(std::move(product)); };
/// Kernels without an entry. The session runs the first three itself; a fused kernel has tile_entry() or the entry of
/// its producer.
template <class P>
concept HasNoEntry = std::same_as<P, params::Reference> || std::same_as<P, params::Opaque> ||
                     std::same_as<P, params::Pack> || std::same_as<P, params::Fused>;

/// A visitor that returns the entry of a family.
struct HandEntries {
  template <class P>
  std::optional<KernelEntry> operator()(const P& p) const {
    if constexpr (HasNoEntry<P>)
      return std::nullopt;
    else if constexpr (IsProduct<P>)
      return entry_of(ProductParams<P>{.params = p, .operands = all});
    else if constexpr (requires { entry_of(p, native); })
      return entry_of(p, native);
    else
      return entry_of(p);
  }

  OperandRange all;  ///< all operands of the call
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
  product.unstored_elem = producer.unstored_elem;
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
    case Kernel::matmul: return entry_of(product_of<params::MatMul>(kernel, native));
    case Kernel::gemm: return entry_of(product_of<params::Gemm>(kernel, native));
    case Kernel::conv: return entry_of(product_of<params::Conv>(kernel, native));
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
