#include "kernel/nbits.h"

#include "kernel/isa.h"
#include "kernel/nbits_isa.h"

namespace frazil::kernel {

void unpack_row(const PackedRow& row, float* to) noexcept {
#if defined(__x86_64__)
  switch (current_isa()) {
    case Isa::avx512: return isa_avx512::unpack_row_run(row, to);
    case Isa::avx2: return isa_avx2::unpack_row_run(row, to);
    case Isa::base: break;
  }
#endif
  isa_base::unpack_row_run(row, to);
}

}  // namespace frazil::kernel
