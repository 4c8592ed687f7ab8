#include "kernel/contract/plain_gemm.h"

#include "kernel/contract/plain_gemm.simd.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {

bool plain_gemm(Elem elem, const PlainGemm& g, std::byte* scratch) noexcept {
  FRAZIL_DISPATCH(plain_gemm_run(elem, g, scratch));
}

}  // namespace frazil::kernel
