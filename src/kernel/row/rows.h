#pragma once

#include <cstdint>

namespace frazil::kernel {

/// The operands of a row-wise operator: `rows` rows of `cols` contiguous elements. Strides are in elements. y may be x,
/// with the same strides. The bits of a row do not depend on the other rows. Numeric class: reassociated.
struct Rows {
  std::int64_t rows = 0, cols = 0;
  const float* x = nullptr;
  std::int64_t x_row = 0;
  float* y = nullptr;
  std::int64_t y_row = 0;
};

void softmax(const Rows& r) noexcept;
void log_softmax(const Rows& r) noexcept;

/// Computes y = (x - mean) * inv_std * scale[cols] + bias[cols], inv_std = 1 / sqrt(variance + epsilon).
/// scale, bias, mean[rows] and inv_std[rows] may be null.
void layer_norm(const Rows& r, const float* scale, const float* bias, float epsilon, float* mean,
                float* inv_std) noexcept;
/// Computes y = x / sqrt(mean of squares + epsilon) * scale[cols]; scale and inv_rms[rows] may be null.
void rms_norm(const Rows& r, const float* scale, float epsilon, float* inv_rms) noexcept;

}  // namespace frazil::kernel
