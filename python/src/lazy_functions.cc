#include <cstddef>
#include <new>

#include "python/src/lazy.h"

// Functions that are recorded once and called as one node, and control flow in recorded code.
namespace frazil::python {
namespace {

struct FunctionObject {
  PyObject ob_base;
  vectorcallfunc call;
  PyObject* body;  ///< takes arrays and returns a list of arrays
  Function function;
};

FunctionObject* function_in(PyObject* object) { return reinterpret_cast<FunctionObject*>(object); }

PyTypeObject* function_class = nullptr;

Arrays arrays_of(py::handle sequence, const char* what) {
  Arrays arrays;
  for (const py::handle each : sequence) {
    const LazyArray* const array = lazy_of(each.ptr());
    if (array == nullptr) refuse(std::string(what) + ": expected arrays, got " + py::repr(each).cast<std::string>());
    arrays.push_back(*array);
  }
  return arrays;
}

py::tuple tuple_of_arrays(std::span<const LazyArray> arrays) {
  py::tuple all(arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    PyTuple_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(i), lazy_object(arrays[i]));
  }
  return all;
}

/// Calls a function of arrays that returns several.
Arrays called(PyObject* function, std::span<const LazyArray> arguments, const char* what) {
  if (function == nullptr) refuse("a recorded function is used after its end");
  const auto made = py::reinterpret_steal<py::object>(PyObject_CallObject(function, tuple_of_arrays(arguments).ptr()));
  if (!made) throw py::error_already_set();
  return arrays_of(made, what);
}

/// Registers the release of this thread's cached functions for the thread's end, while it still has the interpreter's
/// lock.
void clean_up_after_thread() {
  constexpr const char* kKey = "frazil";
  thread_local bool known = false;
  if (std::exchange(known, true)) return;
  PyObject* const own = PyThreadState_GetDict();
  if (own == nullptr) return;
  const auto end = py::reinterpret_steal<py::object>(
      PyCapsule_New(function_class, kKey, [](PyObject*) { api::detail::forget_thread(); }));
  if (!end || PyDict_SetItemString(own, kKey, end.ptr()) != 0) throw py::error_already_set();
}

PyObject* call_recorded(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject*) {
  return guarded([&]() -> PyObject* {
    clean_up_after_thread();
    const Line line = user_line();
    std::vector<Operand> operands;
    for (Py_ssize_t i = 0; i < PyVectorcall_NARGS(flags); ++i) {
      const LazyArray* const array = lazy_of(arguments[i]);
      if (array == nullptr) refuse("a recorded function takes arrays");
      operands.emplace_back(*array, line);
    }
    std::vector<LazyArray> results = function_in(self)->function.call(operands);
    return lazy_objects(results);
  });
}

int traverse_function(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(function_in(object)->body);
  return 0;
}

int clear_function(PyObject* object) {
  Py_CLEAR(function_in(object)->body);
  return 0;
}

void destroy_function(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  clear_function(object);
  function_in(object)->function.~Function();
  type->tp_free(object);
  Py_DECREF(type);
}

PyTypeObject* make_function_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, call), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr},
  };
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(destroy_function)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse_function)},
      {Py_tp_clear, reinterpret_cast<void*>(clear_function)},
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_members, members},
      {0, nullptr},
  };
  constexpr unsigned flags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  static PyType_Spec spec{"frazil._frazil.LazyFunction", sizeof(FunctionObject), 0, flags, slots};
  auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr) throw py::error_already_set();
  return type;
}

/// Creates a recorded function. The C++ function does not own the body, so Python's collector detects a cycle from the
/// body to the function.
py::object make_function(const std::string& name, const py::function& body) {
  PyObject* const object = function_class->tp_alloc(function_class, 0);
  if (object == nullptr) throw py::error_already_set();
  new (&function_in(object)->function) Function(name, [object](std::span<const LazyArray> arguments) {
    return called(function_in(object)->body, arguments, "a recorded function returns");
  });
  function_in(object)->call = call_recorded;
  function_in(object)->body = Py_NewRef(body.ptr());
  return py::reinterpret_steal<py::object>(object);
}

/// `input` and `output` return names by position.
Model model_of(const py::object& function, const py::list& arguments, const py::function& input,
               const py::function& output) {
  const auto naming = [](const py::function& name) {
    return [&name](std::size_t position) { return name(position).cast<std::string>(); };
  };
  return function_in(function.ptr())->function.model(arrays_of(arguments, "model()"), naming(input), naming(output));
}

py::tuple cond_of(const py::object& predicate, const py::function& then, const py::function& otherwise) {
  const auto side = [](const py::function& make) {
    return [&make] { return called(make.ptr(), {}, "a side of cond() returns"); };
  };
  return tuple_of_arrays(api::cond(arrays_of(py::make_tuple(predicate), "cond()")[0], side(then), side(otherwise)));
}

py::tuple loop_of(const py::function& condition, const py::function& body, const py::list& carried) {
  const auto holds = [&](const Arrays& values) {
    const Arrays made = called(condition.ptr(), values, "the condition of while_loop() returns");
    if (made.size() != 1) refuse("the condition of while_loop() returns one array");
    return made[0];
  };
  const auto next = [&](const Arrays& values) {
    return called(body.ptr(), values, "the body of while_loop() returns");
  };
  return tuple_of_arrays(api::loop(holds, next, arrays_of(carried, "while_loop()")));
}

}  // namespace

void bind_lazy_functions(py::module_& m) {
  function_class = make_function_type();
  m.attr("LazyFunction") = py::handle(reinterpret_cast<PyObject*>(function_class));
  m.def("lazy_function", &make_function);
  m.def("lazy_model", &model_of);
  m.def("recorded_cond", &cond_of);
  m.def("recorded_loop", &loop_of);
}

}  // namespace frazil::python
