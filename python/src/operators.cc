#include "python/src/attributes.h"
#include "python/src/docs.h"
#include "python/src/dtypes.h"

namespace frazil::python {
namespace {

const char* name_of(OperatorInfo::Use use) {
  constexpr const char* names[] = {"required", "optional", "variadic"};
  return names[static_cast<int>(use)];
}

py::tuple types_of_port(const OperatorInfo::Port& port) {
  py::tuple types(port.types.size());
  for (std::size_t i = 0; i < port.types.size(); ++i) types[i] = object_of(port.types[i]);
  return types;
}

}  // namespace

void bind_operators(py::module_& m) {
  auto info = py::class_<OperatorInfo>(m, "OperatorInfo", "The definition of an operator: frazil.operators().");
  py::class_<OperatorInfo::Port>(info, "Port")
      .def_readonly("name", &OperatorInfo::Port::name)
      .def_readonly("variable", &OperatorInfo::Port::variable, "ports of one variable have one element type")
      .def_property_readonly("types", &types_of_port, "accepted element types; empty: any value")
      .def_property_readonly(
          "use", [](const OperatorInfo::Port& port) { return name_of(port.use); },
          "'required', 'optional' or 'variadic'");
  py::class_<OperatorInfo::Field>(info, "Attribute")
      .def_readonly("name", &OperatorInfo::Field::name)
      .def_property_readonly(
          "kind", [](const OperatorInfo::Field& field) { return api::name_of(field.kind); },
          "'int', 'float', 'string', 'ints', 'floats', 'strings' or 'tensor'")
      .def_readonly("required", &OperatorInfo::Field::required)
      .def_property_readonly(
          "default",
          [](const OperatorInfo::Field& field) {
            return field.value ? object_of(*field.value) : py::object(py::none());
          },
          "None where there is none")
      .def_readonly("doc", &OperatorInfo::Field::doc);
  info.def_readonly("name", &OperatorInfo::name)
      .def_readonly("domain", &OperatorInfo::domain, "'' is ai.onnx")
      .def_property_readonly("full_name", &OperatorInfo::full_name, "with the domain, as Graph.op() takes it")
      .def_readonly("doc", &OperatorInfo::doc)
      .def_readonly("since", &OperatorInfo::since, "the opset that the definition follows")
      .def_readonly("inputs", &OperatorInfo::inputs)
      .def_readonly("outputs", &OperatorInfo::outputs)
      .def_readonly("attributes", &OperatorInfo::attributes)
      .def_readonly("bodies", &OperatorInfo::bodies, "of control flow: their names")
      .def("__repr__", [](const OperatorInfo& of) { return "OperatorInfo('" + of.full_name() + "')"; });
  m.def("operators", &operators, docs::kOperators);
}

}  // namespace frazil::python
