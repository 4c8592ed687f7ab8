#pragma once

#include <string>
#include <vector>

#include "bench/host_tensor.h"

namespace bench {

/// Empty when `ours` is what `theirs` is: equal integers, and floats with |a - b| <= 1e-3 |b| + 1e-3 RMS(b). Otherwise
/// the first difference, in words.
std::string disagreement(const std::vector<HostTensor>& ours, const std::vector<HostTensor>& theirs);

}  // namespace bench
