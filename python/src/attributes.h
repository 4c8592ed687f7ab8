#pragma once

#include "python/src/python.h"

namespace frazil::python {

/// A Python value as an attribute of this kind, or, without one, of the kind that suits it. Element types become their
/// ONNX number. Throws Code::bad_input, naming `what`.
Attribute attribute_of(py::handle value, std::optional<OperatorInfo::Kind> kind, const std::string& what);
py::object object_of(const Attribute& attribute);

}  // namespace frazil::python
