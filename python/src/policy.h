#pragma once

#include <memory>

#include "python/src/python.h"

namespace frazil::python {

/// The Policy that asks a frazil.Policy; null of None. Throws a TypeError for other objects.
std::shared_ptr<Policy> policy_of(const py::object& object);

}  // namespace frazil::python
