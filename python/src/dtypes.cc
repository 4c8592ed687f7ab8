#include "python/src/dtypes.h"

#include <array>

#include "python/src/docs.h"

namespace frazil::python {
namespace {

struct DtypeName {
  const char* name;
  const char* bits;  ///< NumPy's type for the bits, if NumPy lacks the type itself
};
constexpr DtypeName kDtypeNames[kDtypes] = {
    {"bool", nullptr},        {"int8", nullptr},         {"int16", nullptr},      {"int32", nullptr},
    {"int64", nullptr},       {"uint8", nullptr},        {"uint16", nullptr},     {"uint32", nullptr},
    {"uint64", nullptr},      {"float16", nullptr},      {"bfloat16", "<u2"},     {"float32", nullptr},
    {"float64", nullptr},     {"complex64", nullptr},    {"complex128", nullptr}, {"string", nullptr},
    {"float8_e4m3fn", "u1"},  {"float8_e4m3fnuz", "u1"}, {"float8_e5m2", "u1"},   {"float8_e5m2fnuz", "u1"},
    {"float8_e8m0fnu", "u1"}, {"float4_e2m1fn", "u1"},   {"int4", "i1"},          {"uint4", "u1"},
    {"int2", "i1"},           {"uint2", "u1"},
};
const DtypeName& names_of(Dtype dtype) { return kDtypeNames[static_cast<int>(dtype)]; }

/// The Python object frazil.float32 etc.
struct DtypeObject {
  Dtype dtype;
};

std::array<PyObject*, kDtypes> numpy_dtypes, dtype_objects;  // owned by the process

py::object extension_dtype(const DtypeName& row) {
  const py::object make = py::module_::import("numpy").attr("dtype");
  try {
    return make(py::module_::import("ml_dtypes").attr(row.name));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ImportError) && !error.matches(PyExc_AttributeError)) throw;
  }
  return make(py::list(py::make_tuple(py::make_tuple(row.name, row.bits))));
}

std::optional<Dtype> dtype_from_python_name(const std::string& name) {
  for (int d = 0; d < kDtypes; ++d) {
    if (name == kDtypeNames[d].name) return static_cast<Dtype>(d);
  }
  return std::nullopt;
}

}  // namespace

const char* python_name(Dtype dtype) { return names_of(dtype).name; }

PyObject* numpy_dtype(Dtype dtype) {
  PyObject*& known = numpy_dtypes[static_cast<std::size_t>(dtype)];
  if (known != nullptr) return known;
  const DtypeName& row = names_of(dtype);
  if (row.bits != nullptr) {
    known = extension_dtype(row).release().ptr();
  } else {
    const char* name = dtype == Dtype::string ? "object" : row.name;
    known = py::module_::import("numpy").attr("dtype")(name).release().ptr();
  }
  return known;
}

std::optional<Dtype> dtype_of_numpy(py::handle dtype) {
  const char kind = dtype.attr("kind").cast<char>();
  if (kind == 'O' || kind == 'U' || kind == 'S') return Dtype::string;
  if (kind != 'V' || dtype.attr("names").is_none())
    return dtype_from_python_name(dtype.attr("name").cast<std::string>());
  const py::tuple names = dtype.attr("names");
  if (names.size() != 1) return std::nullopt;
  const auto found = dtype_from_python_name(names[0].cast<std::string>());
  const bool fits =
      found && names_of(*found).bits != nullptr && dtype.attr("itemsize").cast<std::size_t>() == byte_size(*found);
  return fits ? found : std::nullopt;
}

Dtype dtype_of_object(py::handle object, const std::string& what) {
  if (py::isinstance<DtypeObject>(object)) return object.cast<DtypeObject>().dtype;
  if (py::isinstance<py::str>(object)) {
    if (const auto dtype = dtype_from_python_name(object.cast<std::string>())) return *dtype;
  }
  try {
    if (object.ptr() == reinterpret_cast<PyObject*>(&PyUnicode_Type)) return Dtype::string;
    if (const auto dtype = dtype_of_numpy(py::module_::import("numpy").attr("dtype")(object))) return *dtype;
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  refuse(what + ": " + py::repr(object).cast<std::string>() + " is not an element type");
}

py::object object_of(Dtype dtype) {
  return py::reinterpret_borrow<py::object>(dtype_objects[static_cast<std::size_t>(dtype)]);
}

std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (int d = 0; d < kDtypes; ++d) {
    if (name == name_of(static_cast<Dtype>(d))) return static_cast<Dtype>(d);
  }
  return std::nullopt;
}

void bind_dtypes(py::module_& m) {
  py::class_<DtypeObject>(m, "DType", "An element type: frazil.float32. Compares equal to NumPy's dtype of that name.")
      .def_property_readonly(
          "name", [](const DtypeObject& d) { return python_name(d.dtype); }, "The name: 'float32'.")
      .def_property_readonly(
          "short_name", [](const DtypeObject& d) { return name_of(d.dtype); },
          "The name in types and in the text form: 'f32'.")
      .def_property_readonly(
          "itemsize", [](const DtypeObject& d) { return byte_size(d.dtype); }, "The bytes of an element.")
      .def_property_readonly(
          "onnx", [](const DtypeObject& d) { return onnx_number(d.dtype); }, "ONNX's number of the type.")
      .def_property_readonly(
          "numpy", [](const DtypeObject& d) { return py::reinterpret_borrow<py::object>(numpy_dtype(d.dtype)); },
          "NumPy's dtype of arrays of this type.")
      .def("__eq__",
           [](const DtypeObject& d, const py::object& other) {
             if (py::isinstance<DtypeObject>(other)) return other.cast<DtypeObject>().dtype == d.dtype;
             try {
               return dtype_of_object(other, "") == d.dtype;
             } catch (const Error&) {
               return false;
             }
           })
      .def("__hash__", [](const DtypeObject& d) { return py::hash(py::handle(numpy_dtype(d.dtype))); })
      .def("__reduce__", [](const DtypeObject& d) { return python_name(d.dtype); })  // a module attribute
      .def("__repr__", [](const DtypeObject& d) { return std::string("frazil.") + python_name(d.dtype); })
      .def("__str__", [](const DtypeObject& d) { return python_name(d.dtype); });
  py::list all;
  for (int d = 0; d < kDtypes; ++d) {
    py::object object = py::cast(DtypeObject{static_cast<Dtype>(d)});
    all.append(object);
    m.attr(kDtypeNames[d].name) = object;
    dtype_objects[static_cast<std::size_t>(d)] = object.release().ptr();
  }
  m.attr("dtypes") = py::tuple(all);
  m.def(
      "dtype", [](const py::object& of) { return object_of(dtype_of_object(of, "dtype()")); }, py::arg("of"),
      docs::kDtype);
}

}  // namespace frazil::python
