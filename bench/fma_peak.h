#pragma once

namespace bench {

/// Multiplications and additions per nanosecond (GFLOP/s, both counted) of one core that keeps everything in registers,
/// with the instruction set that the kernels use: the median of short windows, about 20 ms in all.
double fma_peak();

}  // namespace bench
