#include "kernel/row/rows.h"

#include "kernel/row/rows.simd.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {

void softmax(const Rows& r) noexcept { FRAZIL_DISPATCH(rows_softmax(r)); }

void log_softmax(const Rows& r) noexcept { FRAZIL_DISPATCH(rows_log_softmax(r)); }

void layer_norm(const Rows& r, const float* scale, const float* bias, float epsilon, float* mean,
                float* inv_std) noexcept {
  FRAZIL_DISPATCH(rows_layer_norm(r, scale, bias, epsilon, mean, inv_std));
}

void rms_norm(const Rows& r, const float* scale, float epsilon, float* inv_rms) noexcept {
  FRAZIL_DISPATCH(rows_rms_norm(r, scale, epsilon, inv_rms));
}

}  // namespace frazil::kernel
