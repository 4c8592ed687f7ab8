#include "bench/lazy/cells.h"

#include "kernel/simd/isa.h"

namespace bench::lazy {

namespace isa_base {
extern const Cells kCells;
}
#if defined(__x86_64__)
namespace isa_avx2 {
extern const Cells kCells;
}
namespace isa_avx512 {
extern const Cells kCells;
}
#endif

const Cells& cells() {
#if defined(__x86_64__)
  switch (frazil::kernel::features().isa) {
    case frazil::Isa::avx512: return isa_avx512::kCells;
    case frazil::Isa::avx2: return isa_avx2::kCells;
    default: break;
  }
#endif
  return isa_base::kCells;
}

}  // namespace bench::lazy
