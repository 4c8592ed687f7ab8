#include "kernel/tile/chain.h"

#include "kernel/simd/isa.h"
#include "kernel/tile/chain.simd.h"

namespace frazil::kernel {

void run_chain(std::span<const ChainStep> steps, const void* const* operands, void* const* results, std::int64_t n) {
  // One row moves nothing.
  run_chain_rows(steps, const_cast<const void**>(operands), const_cast<void**>(results), n, {});
}

void run_chain_rows(std::span<const ChainStep> steps, const void** operands, void** results, std::int64_t n,
                    const ChainRows& rows) {
  FRAZIL_DISPATCH(chain(steps.data(), steps.data() + steps.size(), operands, results, n, rows));
}

}  // namespace frazil::kernel
