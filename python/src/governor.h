#pragma once

#include <memory>

#include "python/src/python.h"

namespace frazil::python {

/// Returns the policy of a _frazil.Governor for one load; null for other objects.
std::shared_ptr<Policy> governed_policy(const py::object& object);

}  // namespace frazil::python
