#pragma once

#include <string>
#include <vector>

#include "bench/host_tensor.h"

namespace bench {

/// Compares results: returns an empty text when integers are equal and floats satisfy
/// abs(a - b) <= 1e-3 abs(b) + 1e-3 RMS(b), else a description of the first difference.
std::string disagreement(const std::vector<HostTensor>& ours, const std::vector<HostTensor>& theirs);

}  // namespace bench
