#include "kernel/plain_gemm.h"

#include "kernel/isa.h"
#include "kernel/plain_gemm_isa.h"

namespace frazil::kernel {

bool plain_gemm(Elem elem, const PlainGemm& g, std::byte* scratch) noexcept {
#if defined(__x86_64__)
  switch (current_isa()) {
    case Isa::avx512: return isa_avx512::plain_gemm_run(elem, g, scratch);
    case Isa::avx2: return isa_avx2::plain_gemm_run(elem, g, scratch);
    case Isa::base: break;
  }
#endif
  return isa_base::plain_gemm_run(elem, g, scratch);
}

}  // namespace frazil::kernel
