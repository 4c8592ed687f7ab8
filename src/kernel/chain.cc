#include "kernel/chain.h"

#include "kernel/chain_isa.h"
#include "kernel/isa.h"

namespace frazil::kernel {

void run_chain(std::span<const ChainStep> steps, const void* const* operands, void* const* results, std::int64_t n) {
  FRAZIL_DISPATCH(chain(steps.data(), steps.data() + steps.size(), operands, results, n));
}

}  // namespace frazil::kernel
