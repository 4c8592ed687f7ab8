#pragma once

#include <concepts>
#include <optional>
#include <utility>

#include "python/src/python.h"
#include "python/src/raised.h"

// Lazy arrays in Python. What records is written in Python's C API: pybind11's calls cost more than a recorded
// operator, and what reads may leave its stack in the middle (lazy_batch.cc), which pybind11's calls do not survive.
namespace frazil::python {

/// An instance of frazil.LazyArray.
struct LazyObject {
  PyObject ob_base;
  LazyArray array;
};

/// What the C API wants of a function: null where it threw, with Python's exception set.
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

/// The class whose instances operators return; null before Python has set it.
PyTypeObject* lazy_class();
/// The array of an instance; null for other objects.
const LazyArray* lazy_of(PyObject* object);
/// A new reference. Throws what is raised.
PyObject* lazy_object(LazyArray array);
/// The results of an operator: the only one, or a tuple.
PyObject* lazy_objects(std::span<LazyArray> arrays);

/// The line of the user's program that runs on this thread: that of the first caller outside of the package. The name
/// of the file stays valid.
Line user_line();

// ---- operands (lazy_operands.cc) ----

/// A Python number that takes the element type of what is beside it.
struct Number {
  enum class Kind : std::uint8_t { boolean, integer, real };
  Kind kind;
  double real;
  std::int64_t whole;  ///< of integers
};
/// None for what is no number, or has an element type of its own as NumPy's scalars have. Throws for integers that no
/// element type can hold.
std::optional<Number> number_of(PyObject* object);
/// What numbers have by themselves: bool, int64, float64.
Dtype default_dtype(const Number& number);
/// The element type of a number beside an array, as NumPy 2 has it.
Dtype dtype_beside(const Number& number, Dtype array);
/// The number as an array, which is remembered. Throws Python's OverflowError where it does not fit.
LazyArray literal_of(const Number& number, Dtype dtype);
/// Whether an object can become an array in an expression.
bool is_array_like(PyObject* object);
/// An object as an array: itself, or a copy of its elements. Throws Code::bad_input, naming `what`.
LazyArray array_operand(PyObject* object, const char* what);

/// The element type that two have in common, as NumPy has it. Throws Python's TypeError where there is none.
Dtype common_dtype(Dtype a, Dtype b);
LazyArray cast(const LazyArray& array, Dtype dtype, const Line& line);

// ---- operators by elements (elementwise.cc) ----

struct Elementwise;
/// The operators behind Python's, by the name of the function that NumPy has: null for others.
const Elementwise* elementwise(std::string_view name);
/// The function on one or two objects. Throws.
PyObject* call(const Elementwise& function, PyObject* x, PyObject* y = nullptr);

/// The parts of bind_lazy().
void bind_lazy_class(py::module_& m);
void bind_elementwise(py::module_& m);
void bind_lazy_operators(py::module_& m);
void bind_lazy_functions(py::module_& m);
void bind_lazy_batches(py::module_& m);

}  // namespace frazil::python
