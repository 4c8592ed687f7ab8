#include <array>
#include <cstddef>
#include <new>

#include "python/src/arrays.h"
#include "python/src/builder.h"
#include "python/src/dtypes.h"
#include "python/src/lazy.h"

// Operators with their attributes, as callables. frazil.lazy.ops creates them from the table of operators.
namespace frazil::python {
namespace {

struct OperatorObject {
  PyObject ob_base;
  vectorcallfunc call;
  Operator operation;
  std::size_t outputs;
  std::vector<int> variables;  ///< type variables by input, the last repeated; negative: any type
};

OperatorObject* operator_in(PyObject* object) { return reinterpret_cast<OperatorObject*>(object); }

/// Converts the arguments of a call. Numbers and lists are converted last, when the other element types are known.
class Inputs {
 public:
  Inputs(const OperatorObject& of, PyObject* const* arguments, std::size_t count) : of_(of), arguments_(arguments) {
    while (count > 0 && arguments[count - 1] == Py_None) --count;
    arrays_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (arguments[i] != Py_None) take(i);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (arguments[i] != Py_None && !arrays_[i]) fit(i);
    }
  }
  std::vector<Operand> operands(const Line& line) const {
    std::vector<Operand> all;
    for (const LazyArray& array : arrays_) all.emplace_back(array, line);
    return all;
  }

 private:
  void take(std::size_t i) {
    if (const LazyArray* const array = lazy_of(arguments_[i])) {
      arrays_[i] = *array;
    } else if (!is_literal(arguments_[i])) {
      arrays_[i] = array_operand(arguments_[i], "an operator");
    }
  }

  void fit(std::size_t i) {
    const std::optional<Dtype> beside = dtype_beside(i);
    if (const auto number = number_of(arguments_[i])) {
      const Dtype own = number->kind == Number::Kind::real ? Dtype::f32 : default_dtype(*number);
      arrays_[i] = literal_of(*number, beside.value_or(own));
    } else {
      arrays_[i] = copied(array_of(arguments_[i], {"an input of an operator", Array::Kind::tensor, beside, {}}));
    }
  }

  int variable(std::size_t i) const {
    return of_.variables.empty() ? -1 : of_.variables[std::min(i, of_.variables.size() - 1)];
  }

  std::optional<Dtype> dtype_beside(std::size_t i) const {
    for (std::size_t k = 0; k < arrays_.size(); ++k) {
      const bool same = variable(k) >= 0 && variable(k) == variable(i);
      if (same && arrays_[k] && !is_waiting(k)) return arrays_[k].dtype();
    }
    return std::nullopt;
  }
  /// Returns true for an argument without an element type, which cannot determine the type of another one.
  bool is_waiting(std::size_t k) const { return lazy_of(arguments_[k]) == nullptr && is_literal(arguments_[k]); }

  const OperatorObject& of_;
  PyObject* const* arguments_;
  std::vector<LazyArray> arrays_;
};

PyObject* call_operator(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    if (keywords != nullptr && PyTuple_GET_SIZE(keywords) > 0) {
      PyErr_SetString(PyExc_TypeError, "the inputs of an operator are given by position");
      throw py::error_already_set();
    }
    const OperatorObject& object = *operator_in(self);
    const Inputs inputs(object, arguments, static_cast<std::size_t>(PyVectorcall_NARGS(flags)));
    const std::vector<Operand> operands = inputs.operands(user_line());
    if (object.outputs == 1) return lazy_object(object.operation(operands));
    std::vector<LazyArray> results = object.operation.all(operands);
    return lazy_objects(results);
  });
}

void destroy_operator(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  operator_in(object)->operation.~Operator();
  operator_in(object)->variables.~vector();
  type->tp_free(object);
  Py_DECREF(type);
}

PyTypeObject* make_operator_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(OperatorObject, call), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr},
  };
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(destroy_operator)},
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_members, members},
      {0, nullptr},
  };
  static PyType_Spec spec{"frazil._frazil.LazyOperator", sizeof(OperatorObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr) throw py::error_already_set();
  return type;
}

}  // namespace

void bind_lazy_operators(py::module_& m) {
  static PyTypeObject* const type = make_operator_type();
  m.attr("LazyOperator") = py::handle(reinterpret_cast<PyObject*>(type));
  m.def("lazy_operator",
        [](const std::string& name, const py::list& attributes, std::size_t outputs, std::vector<int> variables) {
          Operator operation(name, attributes_of(name, attributes), outputs);
          PyObject* const object = type->tp_alloc(type, 0);
          if (object == nullptr) throw py::error_already_set();
          operator_in(object)->call = call_operator;
          new (&operator_in(object)->operation) Operator(std::move(operation));
          operator_in(object)->outputs = outputs;
          new (&operator_in(object)->variables) std::vector<int>(std::move(variables));
          return py::reinterpret_steal<py::object>(object);
        });
}

}  // namespace frazil::python
