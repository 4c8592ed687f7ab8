#pragma once

#include "python/src/python.h"

namespace frazil::python {

/// Converts a Python value to an attribute of this kind, or without a kind, of the kind that fits the value. An element
/// type becomes its ONNX number. Throws Code::bad_input that names `what`.
Attribute attribute_of(py::handle value, std::optional<OperatorInfo::Kind> kind, const std::string& what);
py::object object_of(const Attribute& attribute);

}  // namespace frazil::python
