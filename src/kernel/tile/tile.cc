#include "kernel/tile/tile.h"

#include <cstring>

#include "kernel/simd/isa.h"
#include "kernel/tile/tile.simd.h"

namespace frazil::kernel {

TileFn tile_fn(ScalarOp op, Elem elem, unsigned scalar_mask) { FRAZIL_DISPATCH(find_tile(op, elem, scalar_mask)); }

TileFn cast_fn(Elem from, Elem to) { FRAZIL_DISPATCH(find_cast(from, to)); }

TileFn quantise_fn(Elem to) { FRAZIL_DISPATCH(find_quantise(to)); }

void fill(void* out, const void* value, std::size_t size, std::size_t n) {
  if (n == 0) return;
  if (size == 1) {
    std::memset(out, *static_cast<const unsigned char*>(value), n);
    return;
  }
  // Doubles the written part, so that memcpy does the work.
  auto* to = static_cast<unsigned char*>(out);
  std::size_t total = n * size, done = size;
  std::memmove(to, value, size);
  while (done < total) {
    std::size_t step = done < total - done ? done : total - done;
    if (step > 4096) step = 4096;
    std::memcpy(to + done, to, step);
    done += step;
  }
}

}  // namespace frazil::kernel
