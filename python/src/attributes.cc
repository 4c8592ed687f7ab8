#include "python/src/attributes.h"

#include "python/src/arrays.h"
#include "python/src/dtypes.h"

namespace frazil::python {
namespace {

constexpr const char* kKinds[] = {"an int",           "a float",         "a text",  "a list of ints",
                                  "a list of floats", "a list of texts", "a tensor"};

[[noreturn]] void unfit(py::handle value, OperatorInfo::Kind kind, const std::string& what) {
  refuse(what + ": expected " + kKinds[static_cast<int>(kind)] + ", got " + py::repr(value).cast<std::string>());
}

bool is_dtype(py::handle value) {
  return PyType_Check(value.ptr()) || py::isinstance(value, py::type::of(object_of(Dtype::f32))) ||
         py::isinstance(value, py::module_::import("numpy").attr("dtype"));
}

std::int64_t integer_of(py::handle value, const std::string& what) {
  if (is_dtype(value) || py::isinstance<py::str>(value)) return onnx_number(dtype_of_object(value, what));
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!index) throw py::error_already_set();
  return index.cast<std::int64_t>();
}

float real_of(py::handle value) {
  const double real = PyFloat_AsDouble(value.ptr());
  if (real == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return static_cast<float>(real);
}

std::string string_of(py::handle value) {
  if (!py::isinstance<py::str>(value) && !py::isinstance<py::bytes>(value)) throw py::type_error("");
  return value.cast<std::string>();
}

template <class F>
auto list_of(py::handle value, F&& item) {
  if (py::isinstance<py::str>(value)) throw py::type_error("");
  std::vector<decltype(item(value))> items;
  for (const py::handle one : value) items.push_back(item(one));
  return items;
}

Attribute converted(py::handle value, OperatorInfo::Kind kind, const std::string& what) {
  const auto integer = [&](py::handle one) { return integer_of(one, what); };
  switch (kind) {
    case OperatorInfo::Kind::integer: return integer(value);
    case OperatorInfo::Kind::real: return real_of(value);
    case OperatorInfo::Kind::string: return string_of(value);
    case OperatorInfo::Kind::integers: return list_of(value, integer);
    case OperatorInfo::Kind::reals: return list_of(value, real_of);
    case OperatorInfo::Kind::strings: return list_of(value, string_of);
    case OperatorInfo::Kind::tensor: break;
  }
  return copied(array_of(value, {what, Array::Kind::tensor, {}, {}}));
}

OperatorInfo::Kind kind_of(py::handle value) {
  if (py::isinstance<py::array>(value)) return OperatorInfo::Kind::tensor;
  if (py::isinstance<py::float_>(value)) return OperatorInfo::Kind::real;
  if (py::isinstance<py::str>(value) || py::isinstance<py::bytes>(value)) return OperatorInfo::Kind::string;
  if (PyIndex_Check(value.ptr()) != 0 || is_dtype(value)) return OperatorInfo::Kind::integer;
  if (!py::isinstance<py::list>(value) && !py::isinstance<py::tuple>(value)) return OperatorInfo::Kind::tensor;
  bool real = false;
  for (const py::handle one : value) {
    if (py::isinstance<py::str>(one)) return OperatorInfo::Kind::strings;
    real = real || py::isinstance<py::float_>(one);
  }
  return real ? OperatorInfo::Kind::reals : OperatorInfo::Kind::integers;
}

}  // namespace

Attribute attribute_of(py::handle value, std::optional<OperatorInfo::Kind> kind, const std::string& what) {
  const OperatorInfo::Kind wanted = kind ? *kind : kind_of(value);
  try {
    return converted(value, wanted, what);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_OverflowError)) throw;
    unfit(value, wanted, what);
  } catch (const py::builtin_exception&) {
    unfit(value, wanted, what);
  }
}

py::object object_of(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> py::object {
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Array>) {
          return object_of(value);
        } else {
          return py::cast(value);
        }
      },
      attribute.value());
}

}  // namespace frazil::python
