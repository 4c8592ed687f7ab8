#include <array>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "python/src/arrays.h"
#include "python/src/docs.h"
#include "python/src/dtypes.h"
#include "python/src/lazy.h"

namespace frazil::python {
namespace {

PyTypeObject* base_class = nullptr;   // frazil._frazil.LazyArray
PyTypeObject* final_class = nullptr;  // frazil.LazyArray, a derived class
PyObject* index_function = nullptr;   // takes an array and the key in brackets
PyObject* named_function = nullptr;   // takes a function's name and its operands

LazyObject* lazy_in(PyObject* object) { return reinterpret_cast<LazyObject*>(object); }
const LazyArray& array_in(PyObject* object) { return lazy_in(object)->array; }

void destroy_lazy(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  lazy_in(object)->array.~LazyArray();
  type->tp_free(object);
  Py_DECREF(type);
}

// ---- operators ----

bool is_operand(PyObject* object) {
  return lazy_of(object) != nullptr || PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object) ||
         is_array_like(object);
}

bool is_complex(PyObject* object) {
  if (const LazyArray* const array = lazy_of(object)) {
    const Dtype dtype = array->dtype();
    return dtype == Dtype::c64 || dtype == Dtype::c128;
  }
  if (PyComplex_Check(object)) return true;
  if (PyLong_Check(object) || PyFloat_Check(object)) return false;
  const py::object dtype = py::getattr(object, "dtype", py::none());
  return !dtype.is_none() && py::getattr(dtype, "kind", py::str()).equal(py::str("c"));
}

/// A string as a template argument.
template <std::size_t N>
struct Name {
  constexpr Name(const char (&text)[N]) { std::copy_n(text, N, chars); }  // NOLINT(google-explicit-constructor)
  char chars[N];
};

template <Name name>
const Elementwise& named() {
  static const Elementwise& function = *elementwise(name.chars);
  return function;
}

template <Name name>
PyObject* binary(PyObject* x, PyObject* y) {
  return guarded([&] {
    if (!is_operand(x) || !is_operand(y)) return Py_NewRef(Py_NotImplemented);
    if (is_complex(x) || is_complex(y)) return PyObject_CallFunction(named_function, "sOO", name.chars, x, y);
    return call(named<name>(), x, y);
  });
}

PyObject* power(PyObject* x, PyObject* y, PyObject* modulus) {
  return modulus == Py_None ? binary<"power">(x, y) : Py_NewRef(Py_NotImplemented);
}

template <Name name>
PyObject* unary(PyObject* x) {
  return guarded([&] {
    if (is_complex(x)) return PyObject_CallFunction(named_function, "sO", name.chars, x);
    return call(named<name>(), x);
  });
}

PyObject* compare(PyObject* x, PyObject* y, int operation) {
  switch (operation) {
    case Py_LT: return binary<"less">(x, y);
    case Py_LE: return binary<"less_equal">(x, y);
    case Py_EQ: return binary<"equal">(x, y);
    case Py_NE: return binary<"not_equal">(x, y);
    case Py_GT: return binary<"greater">(x, y);
    default: return binary<"greater_equal">(x, y);
  }
}

// ---- values ----

Array only_element(PyObject* object) {
  Array value = array_in(object).value();
  if (value.is_tensor() && value.count() == 1) return value;
  PyErr_SetString(PyExc_ValueError, "an array has one truth value, and one number, only where it has one element");
  throw py::error_already_set();
}

int truth(PyObject* object) {
  return guarded_int([&] { return only_element(object).number(0) != 0 ? 1 : 0; });
}

PyObject* as_float(PyObject* object) {
  return guarded([&] { return PyFloat_FromDouble(only_element(object).number(0)); });
}

PyObject* item(PyObject* object) { return py::object(object_of(only_element(object)).attr("item")()).release().ptr(); }

PyObject* as_int(PyObject* object) {
  return guarded([&] { return PyNumber_Long(py::reinterpret_steal<py::object>(item(object)).ptr()); });
}

/// Returns an integer for use as an index. Only integer arrays without axes are accepted.
PyObject* as_index(PyObject* object) {
  return guarded([&]() -> PyObject* {
    const Dtype dtype = array_in(object).dtype();
    if (dtype >= Dtype::i8 && dtype <= Dtype::u64 && api::detail::extents(array_in(object)).empty())
      return item(object);
    PyErr_SetString(PyExc_TypeError, "only an integer array without axes can be an index");
    throw py::error_already_set();
  });
}

/// Moves the value out of an object that ends with the call, so no other code can observe writes to it.
PyObject* last_value(PyObject* object) { return object_of(std::move(lazy_in(object)->array).value()).release().ptr(); }

PyObject* numpy_value(PyObject* object, PyObject*) {
  return guarded([&] {
    if (Py_REFCNT(object) == 1) return last_value(object);
    const Array value = array_in(object).value();
    return (value.is_tensor() ? read_only(value) : object_of(value)).release().ptr();
  });
}

PyObject* explain(PyObject* object, PyObject*) {
  return guarded([&] { return py::str(array_in(object).explain()).release().ptr(); });
}

PyObject* is_there(PyObject* object, void*) { return PyBool_FromLong(api::detail::is_there(array_in(object)) ? 1 : 0); }
PyObject* is_traced(PyObject* object, void*) {
  return PyBool_FromLong(api::detail::is_traced(array_in(object)) ? 1 : 0);
}

// ---- types ----

PyObject* dtype(PyObject* object, void*) {
  return guarded([&] { return Py_NewRef(numpy_dtype(array_in(object).dtype())); });
}

PyObject* rank(PyObject* object, void*) {
  return guarded([&] { return PyLong_FromSize_t(api::detail::extents(array_in(object)).size()); });
}

/// Returns a tuple. None is an extent that is only known in a run of the recorded graph.
PyObject* extents(PyObject* object, void*) {
  return guarded([&] {
    const Sizes sizes = api::detail::extents(array_in(object));
    py::tuple all(sizes.size());
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      all[axis] = sizes[axis] < 0 ? py::object(py::none()) : py::object(py::int_(sizes[axis]));
    }
    return all.release().ptr();
  });
}

Py_ssize_t length(PyObject* object) {
  try {
    const Sizes sizes = api::detail::extents(array_in(object));
    if (!sizes.empty() && sizes[0] >= 0) return sizes[0];
    PyErr_SetString(PyExc_TypeError, sizes.empty() ? "an array without axes has no length"
                                                   : "the length of an array of a traced function is not known");
  } catch (...) {
    set_python_error();
  }
  return -1;
}

// ---- elements ----

LazyArray elements_at(const LazyArray& array, std::int64_t axis, std::int64_t index, const Line& line) {
  static const std::array<Operator, 4> gathers{Operator("Gather", {{"axis", 0}}), Operator("Gather", {{"axis", 1}}),
                                               Operator("Gather", {{"axis", 2}}), Operator("Gather", {{"axis", 3}})};
  const LazyArray at = literal_of({Number::Kind::integer, static_cast<double>(index), index}, Dtype::i64);
  const Operand array_operand(array, line), at_operand(at, line);
  if (static_cast<std::size_t>(axis) < gathers.size()) {
    return gathers[static_cast<std::size_t>(axis)]({array_operand, at_operand});
  }
  return Operator("Gather", {{"axis", axis}})({array_operand, at_operand});
}

PyObject* row_at(const LazyArray& array, std::int64_t index) {
  const Sizes sizes = api::detail::extents(array);
  const bool inside = !sizes.empty() && (sizes[0] < 0 || (index >= -sizes[0] && index < sizes[0]));
  if (inside) {
    if (array.is_parameter()) return lazy_object(api::row(array, index));
    return lazy_object(elements_at(array, 0, index, user_line()));
  }
  if (sizes.empty()) {
    PyErr_SetString(PyExc_IndexError, "an array without axes has no elements to choose from");
  } else {
    PyErr_Format(PyExc_IndexError, "index %lld of an axis of %lld elements", static_cast<long long>(index),
                 static_cast<long long>(sizes[0]));
  }
  throw py::error_already_set();
}

/// Slices along some axes. With positive steps, Slice counts bounds as NumPy does.
struct Slices {
  std::vector<std::int64_t> starts, stops, axes, steps;

  /// Returns false for slices that Python code must handle.
  bool add(PyObject* slice, std::int64_t axis) {
    const auto* const parts = reinterpret_cast<const PySliceObject*>(slice);
    for (PyObject* const part : {parts->start, parts->stop, parts->step}) {
      if (part != Py_None && PyLong_CheckExact(part) == 0) return false;  // another object may be an array
    }
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(slice, &start, &stop, &step) != 0) throw py::error_already_set();
    if (step < 1) return false;
    if (start == 0 && stop == PY_SSIZE_T_MAX && step == 1) return true;
    starts.push_back(start);
    stops.push_back(stop);
    axes.push_back(axis);
    steps.push_back(step);
    return true;
  }
  LazyArray of(const LazyArray& array, const Line& line) const {
    if (axes.empty()) return array;
    static const Operator slice("Slice");
    const auto count = static_cast<std::int64_t>(axes.size());
    const auto literal = [&](const std::vector<std::int64_t>& values) {
      return LazyArray(Array::of<std::int64_t>({count}, values));
    };
    const LazyArray a = literal(starts), b = literal(stops), c = literal(axes), d = literal(steps);
    return slice({Operand(array, line), Operand(a, line), Operand(b, line), Operand(c, line), Operand(d, line)});
  }
};

/// Returns the elements selected by integers and slices with positive steps, for an array with known extents. Returns
/// null if the key contains anything else, or an index out of range.
PyObject* plain_elements(const LazyArray& array, std::span<PyObject* const> key) {
  const Sizes sizes = api::detail::extents(array);
  if (key.size() > sizes.size()) return nullptr;
  Slices slices;
  std::vector<std::pair<std::int64_t, std::int64_t>> indices;  // axis and index, last axis first
  for (std::size_t axis = key.size(); axis-- > 0;) {
    const auto number = static_cast<std::int64_t>(axis);
    if (PySlice_Check(key[axis]) != 0) {
      if (!slices.add(key[axis], number)) return nullptr;
      continue;
    }
    if (!PyLong_CheckExact(key[axis])) return nullptr;
    int overflow = 0;
    const std::int64_t index = PyLong_AsLongLongAndOverflow(key[axis], &overflow);
    if (overflow != 0 || index < -sizes[axis] || index >= sizes[axis]) return nullptr;
    indices.emplace_back(number, index);
  }
  const Line line = user_line();
  LazyArray chosen = slices.of(array, line);
  for (const auto& [axis, index] : indices) chosen = elements_at(chosen, axis, index, line);
  return lazy_object(std::move(chosen));
}

/// Returns null for keys that Python code must handle.
PyObject* plain_elements(const LazyArray& array, PyObject* key) {
  if (PySlice_Check(key) != 0) return plain_elements(array, std::span(&key, 1));
  if (!PyTuple_CheckExact(key)) return nullptr;
  return plain_elements(array, {&PyTuple_GET_ITEM(key, 0), static_cast<std::size_t>(PyTuple_GET_SIZE(key))});
}

PyObject* element(PyObject* object, PyObject* key) {
  return guarded([&]() -> PyObject* {
    if (!PyLong_CheckExact(key)) {
      PyObject* const plain = plain_elements(array_in(object), key);
      return plain != nullptr ? plain : PyObject_CallFunctionObjArgs(index_function, object, key, nullptr);
    }
    const std::int64_t index = PyLong_AsLongLong(key);
    if (index == -1 && PyErr_Occurred() != nullptr) return nullptr;
    return row_at(array_in(object), index);
  });
}

PyMethodDef methods[] = {
    {"numpy", numpy_value, METH_NOARGS, docs::kNumpy},
    {"explain", explain, METH_NOARGS, docs::kExplainArray},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef lazy_class_members[] = {
    {"dtype", dtype, nullptr, "The element type, a numpy.dtype.", nullptr},
    {"ndim", rank, nullptr, "The number of axes.", nullptr},
    {"_extents", extents, nullptr, nullptr, nullptr},
    {"_there", is_there, nullptr, nullptr, nullptr},
    {"_traced", is_traced, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

template <class F>
PyType_Slot slot(int number, F* function) {
  return {number, reinterpret_cast<void*>(function)};
}

PyType_Slot* slots() {
  static PyType_Slot all[] = {
      slot(Py_tp_dealloc, destroy_lazy),
      slot(Py_tp_richcompare, compare),
      {Py_tp_methods, methods},
      {Py_tp_getset, lazy_class_members},
      slot(Py_mp_length, length),
      slot(Py_mp_subscript, element),
      slot(Py_nb_add, binary<"add">),
      slot(Py_nb_subtract, binary<"subtract">),
      slot(Py_nb_multiply, binary<"multiply">),
      slot(Py_nb_true_divide, binary<"divide">),
      slot(Py_nb_matrix_multiply, binary<"matmul">),
      slot(Py_nb_power, power),
      slot(Py_nb_and, binary<"bitwise_and">),
      slot(Py_nb_or, binary<"bitwise_or">),
      slot(Py_nb_xor, binary<"bitwise_xor">),
      slot(Py_nb_negative, unary<"negative">),
      slot(Py_nb_positive, unary<"positive">),
      slot(Py_nb_absolute, unary<"absolute">),
      slot(Py_nb_invert, unary<"invert">),
      slot(Py_nb_bool, truth),
      slot(Py_nb_float, as_float),
      slot(Py_nb_int, as_int),
      slot(Py_nb_index, as_index),
      {0, nullptr},
  };
  return all;
}

}  // namespace

PyTypeObject* lazy_class() { return final_class; }

const LazyArray* lazy_of(PyObject* object) {
  if (Py_TYPE(object) == final_class || PyObject_TypeCheck(object, base_class)) return &array_in(object);
  return nullptr;
}

PyObject* lazy_object(LazyArray array) {
  PyObject* const object = final_class->tp_alloc(final_class, 0);
  if (object == nullptr) throw py::error_already_set();
  new (&lazy_in(object)->array) LazyArray(std::move(array));
  return object;
}

PyObject* lazy_objects(std::span<LazyArray> arrays) {
  if (arrays.size() == 1) return lazy_object(std::move(arrays[0]));
  py::tuple all(arrays.size());
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    PyTuple_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(k), lazy_object(std::move(arrays[k])));
  }
  return all.release().ptr();
}

namespace {

/// Creates an array. Without `copy` it borrows memory if possible. Numbers and lists take `dtype`.
py::object make_array(const py::object& value, const py::object& dtype, bool copy, bool parameter) {
  if (const LazyArray* const known = lazy_of(value.ptr()))
    return py::reinterpret_steal<py::object>(lazy_object(*known));
  const auto wanted = dtype.is_none() ? std::nullopt : std::optional(dtype_of_object(dtype, "an array"));
  if (const auto number = number_of(value.ptr())) {
    return py::reinterpret_steal<py::object>(lazy_object(literal_of(*number, wanted.value_or(default_dtype(*number)))));
  }
  Array array = array_of(value, {"an array", Array::Kind::tensor, wanted, {}});
  if (!array.is_tensor()) refuse("an array is made of numbers, not of " + py::repr(value).cast<std::string>());
  if (copy) array = copied(std::move(array));
  return py::reinterpret_steal<py::object>(lazy_object(parameter ? api::parameter(array) : LazyArray(array)));
}

/// Creates an int64 array, which compiled code may contain as a constant.
PyObject* make_ints(PyObject*, PyObject* const* numbers, Py_ssize_t count) {
  return guarded([&] {
    std::vector<std::int64_t> values;
    for (Py_ssize_t i = 0; i < count; ++i) {
      const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(numbers[i]));
      if (!index) throw py::error_already_set();
      values.push_back(PyLong_AsLongLong(index.ptr()));
      if (values.back() == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    }
    return lazy_object(Array::of<std::int64_t>({count}, std::span<const std::int64_t>(values)));
  });
}

PyObject* evaluate_arrays(PyObject*, PyObject* const* objects, Py_ssize_t count) {
  return guarded([&] {
    std::vector<LazyArray> arrays;
    for (Py_ssize_t i = 0; i < count; ++i) arrays.push_back(array_in(objects[i]));
    api::evaluate(arrays);
    return Py_NewRef(Py_None);
  });
}

PyMethodDef lazy_class_functions[] = {
    {"lazy_evaluate", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(evaluate_arrays)), METH_FASTCALL,
     nullptr},
    {"lazy_ints", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(make_ints)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void bind_lazy_class(py::module_& m) {
  if (PyModule_AddFunctions(m.ptr(), lazy_class_functions) != 0) throw py::error_already_set();
  m.def("lazy_array", &make_array);
  PyType_Spec spec{"frazil._frazil.LazyArray", sizeof(LazyObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots()};
  base_class = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (base_class == nullptr) throw py::error_already_set();
  m.attr("LazyArray") = py::handle(reinterpret_cast<PyObject*>(base_class));
  m.def("set_lazy_class", [](const py::object& derived, const py::object& index, const py::object& named) {
    final_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(derived.ptr()));
    index_function = Py_NewRef(index.ptr());
    named_function = Py_NewRef(named.ptr());
  });
}

}  // namespace frazil::python
