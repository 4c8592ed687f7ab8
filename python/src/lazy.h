#pragma once

#include <concepts>
#include <optional>
#include <utility>

#include "python/src/python.h"
#include "python/src/raised.h"

// Lazy arrays in Python. The recording functions use Python's C API directly, as a call through pybind11 costs more
// than recording an operator. Functions that read values may suspend their stack (lazy_batches.cc), which pybind11's
// calls do not support.
namespace frazil::python {

/// An instance of frazil.LazyArray.
struct LazyObject {
  PyObject ob_base;
  LazyArray array;
};

/// Calls a function for the C API: returns null if it throws, with Python's exception set.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
template <class F>
int guarded_int(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return -1;
  }
}

/// Returns the class of operators' results; null before Python has set it.
PyTypeObject* lazy_class();
/// Returns the array of an instance; null for other objects.
const LazyArray* lazy_of(PyObject* object);
/// Returns a new reference. Throws Python's exceptions.
PyObject* lazy_object(LazyArray array);
/// Returns the results of an operator: the only one, or a tuple.
PyObject* lazy_objects(std::span<LazyArray> arrays);

/// Returns the current line of the user's program on this thread: that of the first caller outside of the package. The
/// file name stays valid.
Line user_line();

// ---- operands (lazy_operands.cc) ----

/// A Python number, whose element type is determined by the other operands.
struct Number {
  enum class Kind : std::uint8_t { boolean, integer, real };
  Kind kind;
  double real;
  std::int64_t whole;  ///< for integers
};
/// Returns nullopt for other objects, and for objects with their own element type such as NumPy's scalars. Throws for
/// integers that no element type can hold.
std::optional<Number> number_of(PyObject* object);
/// Returns the type of a number without other operands: bool, int64, float64.
Dtype default_dtype(const Number& number);
/// Returns the element type of a number next to an array, as in NumPy 2.
Dtype dtype_beside(const Number& number, Dtype array);
/// Returns the number as an array, which is cached. Throws Python's OverflowError if it does not fit.
LazyArray literal_of(const Number& number, Dtype dtype);
/// Returns true if an object can become an array in an expression.
bool is_array_like(PyObject* object);
/// Converts an object to an array: itself, or a copy of its elements. Throws Code::bad_input that names `what`.
LazyArray array_operand(PyObject* object, const char* what);

/// Returns the common element type, as in NumPy. Throws Python's TypeError if there is none.
Dtype common_dtype(Dtype a, Dtype b);
LazyArray cast(const LazyArray& array, Dtype dtype, const Line& line);

// ---- elementwise operators (elementwise.cc) ----

struct Elementwise;
/// Returns the implementation of a Python operator or NumPy function by NumPy's name; null for other names.
const Elementwise* elementwise(std::string_view name);
/// Calls the function on one or two objects. Throws.
PyObject* call(const Elementwise& function, PyObject* x, PyObject* y = nullptr);

/// The parts of bind_lazy().
void bind_lazy_class(py::module_& m);
void bind_elementwise(py::module_& m);
void bind_lazy_operators(py::module_& m);
void bind_lazy_functions(py::module_& m);
void bind_lazy_batches(py::module_& m);

}  // namespace frazil::python
