#include "kernel/plain_gemm.h"

#include "kernel/isa.h"
#include "kernel/plain_gemm_isa.h"

namespace frazil::kernel {

bool plain_gemm(Elem elem, const PlainGemm& g, std::byte* scratch) noexcept {
  FRAZIL_DISPATCH(plain_gemm_run(elem, g, scratch));
}

}  // namespace frazil::kernel
