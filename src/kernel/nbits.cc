#include "kernel/nbits.h"

#include "kernel/isa.h"
#include "kernel/nbits_isa.h"

namespace frazil::kernel {

void unpack_row(const PackedRow& row, float* to) noexcept { FRAZIL_DISPATCH(unpack_row_run(row, to)); }

}  // namespace frazil::kernel
