#pragma once

#include <string>
#include <vector>

#include "bench/host_tensor.h"

namespace bench {

/// Compares results. Returns an empty text if integers are equal and floats satisfy abs(a - b) <= 1e-3 abs(b) + 1e-3
/// RMS(b), else a description of the first difference.
std::string disagreement(const std::vector<HostTensor>& ours, const std::vector<HostTensor>& theirs);
/// Compares results of quantised models, whose rounding differs. f32 outputs agree if the RMS of their difference is at
/// most `apart` of the peer's RMS.
std::string disagreement(const std::vector<HostTensor>& ours, const std::vector<HostTensor>& theirs, double apart);

}  // namespace bench
