#pragma once

#include <optional>
#include <string>

#include "tensor/datum.h"

namespace frazil {

struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-7;
};

/// Returns nullopt when the values agree, else one line that says where and how they differ. Kinds, element types and
/// extents must be equal. Floats and complex numbers agree as in numpy.allclose with equal_nan:
/// got - want
/// <= atol + rtol *
/// want
/// , NaN with NaN, an infinity only with the same one; complex numbers agree when both parts do. Everything else must
/// be equal. The order of a map's entries is ignored.
std::optional<std::string> difference(const Datum& got, const Datum& want, Tolerance tolerance = {});

}  // namespace frazil
