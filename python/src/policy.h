#pragma once

#include <memory>

#include "python/src/python.h"

namespace frazil::python {

/// Returns a Policy that calls a frazil.Policy, or that of a frazil.Governor; null for None. Throws a TypeError for
/// other objects.
std::shared_ptr<Policy> policy_of(const py::object& object);

}  // namespace frazil::python
