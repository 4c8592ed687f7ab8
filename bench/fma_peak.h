#pragma once

namespace bench {

/// Returns the peak GFLOP/s of one core (multiplications and additions) with all operands in registers. Uses the
/// instruction set of the kernels. The result is the median of short windows, about 20 ms in total.
double fma_peak();

}  // namespace bench
