#pragma once

#include <optional>
#include <string>

#include "tensor/datum.h"

namespace frazil {

struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-7;
};

/// Returns nullopt if the values agree, otherwise one line with the place and the size of the difference. Kinds,
/// element types and extents must be equal. Floats and complex numbers agree as in numpy.allclose with equal_nan:
/// abs(got - want) <= atol + rtol * abs(want). NaN agrees with NaN, an infinity only with the same one. Complex numbers
/// agree if both parts do. Everything else must be equal. The order of a map's entries is ignored.
std::optional<std::string> difference(const Datum& got, const Datum& want, Tolerance tolerance = {});

}  // namespace frazil
