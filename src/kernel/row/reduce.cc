#include "kernel/row/reduce.h"

#include "kernel/row/reduce.simd.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {

bool reduce_supports(Reduce op, Elem elem) noexcept {
  switch (elem) {
    case Elem::f32:
    case Elem::f64:
    case Elem::i32:
    case Elem::i64: return true;
    case Elem::i8:
    case Elem::u8: return op == Reduce::max || op == Reduce::min;
    default: return false;
  }
}

bool reduce(Reduce op, Elem elem, const void* x, void* y, std::int64_t outer, std::int64_t extent,
            std::int64_t inner) noexcept {
  FRAZIL_DISPATCH(reduce_run(op, elem, x, y, outer, extent, inner));
}

bool arg_reduce(Arg op, bool last, Elem elem, const void* x, std::int64_t* y, std::int64_t outer, std::int64_t extent,
                std::int64_t inner) noexcept {
  FRAZIL_DISPATCH(arg_reduce_run(op, last, elem, x, y, outer, extent, inner));
}

}  // namespace frazil::kernel
