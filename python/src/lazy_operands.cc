#include <array>
#include <bit>
#include <cmath>

#include "python/src/arrays.h"
#include "python/src/dtypes.h"
#include "python/src/lazy.h"

// Operands other than lazy arrays, and the common element types of operands, as in NumPy 2.
namespace frazil::python {
namespace {

constexpr std::size_t kLiterals = 1U << 10U;

struct Literal {
  std::uint64_t bits = 0;
  Dtype dtype = Dtype::boolean;
  bool real = false;
  LazyArray array;
};

/// A cache of recent numbers. It is never destroyed, as arrays cannot be freed at the end of the process.
std::array<Literal, kLiterals>& literals() {
  static auto& literals = *new std::array<Literal, kLiterals>;
  return literals;
}

[[noreturn]] void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw py::error_already_set();
}

/// Returns true if an integer is in the type's range.
bool fits(std::int64_t whole, Dtype dtype) {
  if (dtype == Dtype::u64) return whole >= 0;
  if (!is_integer(dtype) || dtype == Dtype::i64) return true;
  const bool is_signed = dtype < Dtype::u8;
  const auto bits = static_cast<unsigned>(8 * byte_size(dtype) - (is_signed ? 1 : 0));
  const std::int64_t most = (std::int64_t{1} << bits) - 1;
  return whole <= most && whole >= (is_signed ? -most - 1 : 0);
}

PyTypeObject* numpy_generic() {
  static auto* const type =
      reinterpret_cast<PyTypeObject*>(py::object(py::module_::import("numpy").attr("generic")).release().ptr());
  return type;
}

Number whole_number(PyObject* object) {
  int overflow = 0;
  const std::int64_t whole = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) raise(PyExc_OverflowError, "a Python integer is too large for an element of int64");
  if (whole == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return {Number::Kind::integer, static_cast<double>(whole), whole};
}

using Table = std::array<std::array<signed char, kDtypes>, kDtypes>;

/// Returns NumPy's result; -1: none.
signed char asked_of_numpy(Dtype a, Dtype b) {
  try {
    const py::object promote = py::module_::import("numpy").attr("promote_types");
    const auto made = dtype_of_numpy(promote(py::handle(numpy_dtype(a)), py::handle(numpy_dtype(b))));
    return made ? static_cast<signed char>(*made) : -1;
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    return -1;
  }
}

/// Returns NumPy's result, extended by bfloat16, which is promoted to the larger reals.
signed char promoted(Dtype a, Dtype b) {
  if (a == Dtype::string || b == Dtype::string) return -1;
  if (b == Dtype::bf16) std::swap(a, b);
  if (a != Dtype::bf16) return asked_of_numpy(a, b);
  if (b == Dtype::boolean) return static_cast<signed char>(a);
  if (b == Dtype::f16) return static_cast<signed char>(Dtype::f32);
  return b == Dtype::f32 || b == Dtype::f64 ? static_cast<signed char>(b) : -1;
}

}  // namespace

std::optional<Number> number_of(PyObject* object) {
  if (PyFloat_CheckExact(object)) return Number{Number::Kind::real, PyFloat_AS_DOUBLE(object), 0};
  if (PyBool_Check(object)) {
    const bool holds = object == Py_True;
    return Number{Number::Kind::boolean, holds ? 1.0 : 0.0, holds ? 1 : 0};
  }
  if (PyLong_Check(object)) return whole_number(object);
  if (PyFloat_Check(object) && !PyObject_TypeCheck(object, numpy_generic())) {
    return Number{Number::Kind::real, PyFloat_AS_DOUBLE(object), 0};
  }
  return std::nullopt;
}

Dtype default_dtype(const Number& number) {
  switch (number.kind) {
    case Number::Kind::boolean: return Dtype::boolean;
    case Number::Kind::integer: return Dtype::i64;
    case Number::Kind::real: break;
  }
  return Dtype::f64;
}

Dtype dtype_beside(const Number& number, Dtype array) {
  if (number.kind == Number::Kind::boolean || is_real(array)) return array;
  if (number.kind == Number::Kind::integer) return array == Dtype::boolean ? Dtype::i64 : array;
  return array == Dtype::boolean || is_integer(array) ? Dtype::f64 : array;
}

LazyArray literal_of(const Number& number, Dtype dtype) {
  const bool real = number.kind == Number::Kind::real;
  if (!real && !fits(number.whole, dtype)) {
    raise(PyExc_OverflowError, std::to_string(number.whole) + " is out of the range of " + python_name(dtype));
  }
  const auto bits = real ? std::bit_cast<std::uint64_t>(number.real) : static_cast<std::uint64_t>(number.whole);
  const std::uint64_t hash = (bits ^ bits >> 32U) * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(dtype);
  Literal& entry = literals()[hash >> 32U & (kLiterals - 1)];
  if (entry.array && entry.bits == bits && entry.dtype == dtype && entry.real == real) return entry.array;
  LazyArray array = real ? api::detail::literal(number.real, dtype) : api::detail::literal(number.whole, dtype);
  entry = {bits, dtype, real, array};
  return array;
}

bool is_array_like(PyObject* object) {
  if (py::detail::npy_api::get().PyArray_Check_(object) || PyObject_TypeCheck(object, numpy_generic())) return true;
  if (PyList_Check(object) || PyTuple_Check(object)) return true;
  return PyObject_HasAttrString(object, "__array__") != 0 || PyObject_HasAttrString(object, "__dlpack__") != 0;
}

LazyArray array_operand(PyObject* object, const char* what) {
  if (const LazyArray* const array = lazy_of(object)) return *array;
  if (const auto number = number_of(object)) return literal_of(*number, default_dtype(*number));
  const Array array = array_of(object, {what, Array::Kind::tensor, {}, {}});
  if (!array.is_tensor())
    refuse(std::string(what) + ": expected an array, got " + py::repr(object).cast<std::string>());
  return copied(array);
}

Dtype common_dtype(Dtype a, Dtype b) {
  if (a == b) return a;
  static constexpr signed char kUnasked = -2;
  static Table table = [] {
    Table all;
    for (auto& row : all) row.fill(kUnasked);
    return all;
  }();
  signed char& common = table[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  if (common == kUnasked) common = promoted(a, b);
  if (common >= 0) return static_cast<Dtype>(common);
  raise(PyExc_TypeError, std::string(python_name(a)) + " and " + python_name(b) +
                             " have no element type in common: cast one of them by astype()");
}

LazyArray cast(const LazyArray& array, Dtype dtype, const Line& line) {
  static std::array<std::optional<Operator>, kDtypes> casts;
  std::optional<Operator>& known = casts[static_cast<std::size_t>(dtype)];
  if (!known) known.emplace("Cast", Attributes{{"to", onnx_number(dtype)}});
  return (*known)({Operand(array, line)});
}

}  // namespace frazil::python
