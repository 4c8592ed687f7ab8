#include <algorithm>
#include <array>
#include <deque>

#include "python/src/dtypes.h"
#include "python/src/lazy.h"

// The elementwise functions under NumPy's names. For each: the operator that implements it, and the handling of element
// types that the operator lacks or treats differently.
namespace frazil::python {
namespace {

/// How operands are cast after they have a common element type.
enum class Rule : std::uint8_t {
  numbers,   ///< no cast
  inexact,   ///< integers to reals of their size, as in NumPy
  quotient,  ///< integers to float64
  whole,     ///< no cast; the identity for integers
  order,     ///< bools to integers
  truth,     ///< all to bool
  bits,      ///< no cast; reals are refused
  special,   ///< integers to reals, which never have such a value
};

struct ElementwiseRow {
  const char* name;
  const char* parameters;
  const char* doc;
  Rule rule;
  const char* op;
  const char* of_bools = nullptr;  ///< the operator for bools; null: none, or the same after a cast
  bool negated = false;
  bool from_zero = false;  ///< computes 0 - x for unsigned integers, which the operator lacks
};

constexpr ElementwiseRow kElementwiseRows[] = {
    {"add", "x1, x2", "Returns x1 + x2.", Rule::numbers, "Add", "Or"},
    {"subtract", "x1, x2", "Returns x1 - x2.", Rule::numbers, "Sub"},
    {"multiply", "x1, x2", "Returns x1 * x2.", Rule::numbers, "Mul", "And"},
    {"divide", "x1, x2", "Returns x1 / x2; of integers float64.", Rule::quotient, "Div"},
    {"power", "x1, x2", "Returns x1 ** x2.", Rule::numbers, "Pow"},
    {"matmul", "x1, x2", "Returns the matrix product, over the axes before the last two broadcast.", Rule::numbers,
     "MatMul"},
    {"maximum", "x1, x2", "Returns the larger elements.", Rule::numbers, "Max", "Or"},
    {"minimum", "x1, x2", "Returns the smaller elements.", Rule::numbers, "Min", "And"},
    {"equal", "x1, x2", "Returns x1 == x2.", Rule::numbers, "Equal", "Equal"},
    {"not_equal", "x1, x2", "Returns x1 != x2.", Rule::numbers, "Equal", "Equal", true},
    {"less", "x1, x2", "Returns x1 < x2.", Rule::order, "Less"},
    {"less_equal", "x1, x2", "Returns x1 <= x2.", Rule::order, "LessOrEqual"},
    {"greater", "x1, x2", "Returns x1 > x2.", Rule::order, "Greater"},
    {"greater_equal", "x1, x2", "Returns x1 >= x2.", Rule::order, "GreaterOrEqual"},
    {"logical_and", "x1, x2", "Returns whether both are not 0.", Rule::truth, "And"},
    {"logical_or", "x1, x2", "Returns whether any is not 0.", Rule::truth, "Or"},
    {"logical_xor", "x1, x2", "Returns whether exactly one is not 0.", Rule::truth, "Xor"},
    {"bitwise_and", "x1, x2", "Returns x1 & x2.", Rule::bits, "BitwiseAnd", "And"},
    {"bitwise_or", "x1, x2", "Returns x1 | x2.", Rule::bits, "BitwiseOr", "Or"},
    {"bitwise_xor", "x1, x2", "Returns x1 ^ x2.", Rule::bits, "BitwiseXor", "Xor"},
    {"negative", "x", "Returns -x; of unsigned integers modulo their range.", Rule::numbers, "Neg", nullptr, false,
     true},
    {"positive", "x", "Returns +x.", Rule::numbers, "Identity"},
    {"absolute", "x", "Returns absolute values.", Rule::numbers, "Abs", "Identity"},
    {"sign", "x", "Returns -1, 0 or 1.", Rule::numbers, "Sign"},
    {"invert", "x", "Returns ~x.", Rule::bits, "BitwiseNot", "Not"},
    {"logical_not", "x", "Returns whether it is 0.", Rule::truth, "Not"},
    {"floor", "x", "Rounds down.", Rule::whole, "Floor"},
    {"ceil", "x", "Rounds up.", Rule::whole, "Ceil"},
    {"rint", "x", "Rounds to the nearest integer, half to even.", Rule::inexact, "Round"},
    {"isnan", "x", "Returns whether it is not a number.", Rule::special, "IsNaN"},
    {"isinf", "x", "Returns whether it is infinite.", Rule::special, "IsInf"},
    {"exp", "x", "Returns e ** x.", Rule::inexact, "Exp"},
    {"log", "x", "Returns the natural logarithm.", Rule::inexact, "Log"},
    {"sqrt", "x", "Returns the square root.", Rule::inexact, "Sqrt"},
    {"sin", "x", "Returns the sine.", Rule::inexact, "Sin"},
    {"cos", "x", "Returns the cosine.", Rule::inexact, "Cos"},
    {"tan", "x", "Returns the tangent.", Rule::inexact, "Tan"},
    {"arcsin", "x", "Returns the arc sine.", Rule::inexact, "Asin"},
    {"arccos", "x", "Returns the arc cosine.", Rule::inexact, "Acos"},
    {"arctan", "x", "Returns the arc tangent.", Rule::inexact, "Atan"},
    {"sinh", "x", "Returns the hyperbolic sine.", Rule::inexact, "Sinh"},
    {"cosh", "x", "Returns the hyperbolic cosine.", Rule::inexact, "Cosh"},
    {"tanh", "x", "Returns the hyperbolic tangent.", Rule::inexact, "Tanh"},
    {"arcsinh", "x", "Returns the inverse hyperbolic sine.", Rule::inexact, "Asinh"},
    {"arccosh", "x", "Returns the inverse hyperbolic cosine.", Rule::inexact, "Acosh"},
    {"arctanh", "x", "Returns the inverse hyperbolic tangent.", Rule::inexact, "Atanh"},
};

bool is_unsigned(Dtype dtype) { return dtype >= Dtype::u8 && dtype <= Dtype::u64; }

Dtype real_of_size(Dtype dtype) {
  const std::size_t bytes = byte_size(dtype);
  return bytes == 1 ? Dtype::f16 : bytes == 2 ? Dtype::f32 : Dtype::f64;
}

Dtype cast_by(Rule rule, Dtype dtype) {
  const bool exact = dtype == Dtype::boolean || is_integer(dtype);
  switch (rule) {
    case Rule::inexact: return exact ? real_of_size(dtype) : dtype;
    case Rule::quotient: return exact ? Dtype::f64 : dtype;
    case Rule::special: return exact ? Dtype::f32 : dtype;
    case Rule::order: return dtype == Dtype::boolean ? Dtype::u8 : dtype;
    case Rule::truth: return Dtype::boolean;
    default: return dtype;
  }
}

}  // namespace

/// The implementation for operands of one element type.
struct Step {
  Dtype cast;
  std::optional<Operator> op;
};

struct Elementwise {
  const ElementwiseRow* row;
  std::array<std::optional<Step>, kDtypes> steps;  ///< by element type, created on first use
  std::string text_signature;
};

namespace {

[[noreturn]] void refuse_type(const ElementwiseRow& row, Dtype dtype, const char* what) {
  PyErr_Format(PyExc_TypeError, "%s() of %s: %s", row.name, python_name(dtype), what);
  throw py::error_already_set();
}

const char* operator_for(const ElementwiseRow& row, Dtype given, Dtype cast) {
  if (row.rule == Rule::bits && is_real(given)) refuse_type(row, given, "only integers and bools have bits");
  if (row.rule == Rule::whole && !is_real(given)) return "Identity";
  if (cast != Dtype::boolean || row.rule == Rule::truth) return row.op;
  if (row.of_bools == nullptr) refuse_type(row, given, "there is none for bools; cast them by astype()");
  return row.of_bools;
}

Step& step_of(Elementwise& of, Dtype dtype) {
  std::optional<Step>& step = of.steps[static_cast<std::size_t>(dtype)];
  if (!step) {
    const Dtype cast = cast_by(of.row->rule, dtype);
    step = Step{cast, Operator(operator_for(*of.row, dtype, cast))};
  }
  return *step;
}

Elementwise& changing(const Elementwise& of) { return const_cast<Elementwise&>(of); }

/// An argument of a call: an array, or a number without an element type yet.
struct Argument {
  Argument(const Argument&) = delete;
  Argument& operator=(const Argument&) = delete;
  Argument(PyObject* object, const char* what) : array(lazy_of(object)) {
    if (array != nullptr) return;
    number = number_of(object);
    if (!number) become(array_operand(object, what));
  }
  void become(LazyArray made) {
    own = std::move(made);
    array = &own;
    number.reset();
  }
  /// Converts the argument to another element type.
  void cast_to(Dtype dtype, const Line& line) {
    if (number) {
      become(literal_of(*number, dtype));
    } else if (array->dtype() != dtype) {
      become(cast(*array, dtype, line));
    }
  }
  const LazyArray* array;
  LazyArray own;
  std::optional<Number> number;
};

/// Returns the common element type: first of the arrays, then combined with the numbers.
Dtype common(const auto& arguments) {
  std::optional<Dtype> all;
  for (const Argument& each : arguments) {
    if (!each.number) all = all ? common_dtype(*all, each.array->dtype()) : each.array->dtype();
  }
  const bool only_numbers = !all;
  for (const Argument& each : arguments) {
    if (!each.number) continue;
    const Dtype own = default_dtype(*each.number);
    all = !all ? own : only_numbers ? common_dtype(*all, own) : dtype_beside(*each.number, *all);
  }
  return *all;
}

LazyArray negated_if(const Elementwise& function, LazyArray made, const Line& line) {
  if (!function.row->negated) return made;
  static const Operator negate("Not");
  return negate({Operand(made, line)});
}

bool has_negative(const LazyArray& integers) {
  const Array values = integers.value();
  for (std::int64_t i = 0; i < values.count(); ++i) {
    if (values.number(i) < 0) return true;
  }
  return false;
}

/// Refuses negative exponents for integers, as NumPy does. An exponent that has not been computed is not checked.
void check_exponent(const ElementwiseRow& row, const Argument& exponent, Dtype dtype) {
  if (row.op != std::string_view("Pow") || !is_integer(dtype)) return;
  const bool negative = exponent.number ? exponent.number->kind == Number::Kind::integer && exponent.number->whole < 0
                                        : api::detail::is_there(*exponent.array) && has_negative(*exponent.array);
  if (!negative) return;
  PyErr_SetString(PyExc_ValueError, "integers have no negative integer powers: cast them by astype()");
  throw py::error_already_set();
}

PyObject* call_on_two(Elementwise& function, PyObject* first, PyObject* second, const Line& line) {
  std::array<Argument, 2> both{Argument(first, function.row->name), Argument(second, function.row->name)};
  auto& [x, y] = both;
  const Dtype dtype = common(both);
  check_exponent(*function.row, y, dtype);
  const Step& step = step_of(function, dtype);
  x.cast_to(step.cast, line);
  y.cast_to(step.cast, line);
  return lazy_object(negated_if(function, (*step.op)({Operand(*x.array, line), Operand(*y.array, line)}), line));
}

PyObject* call_on_one(Elementwise& function, PyObject* first, const Line& line) {
  Argument x(first, function.row->name);
  const Dtype dtype = x.number ? default_dtype(*x.number) : x.array->dtype();
  if (function.row->from_zero && is_unsigned(dtype)) {
    static const Operator subtract("Sub");
    x.cast_to(dtype, line);
    const LazyArray zero = literal_of({Number::Kind::integer, 0, 0}, dtype);
    return lazy_object(subtract({Operand(zero, line), Operand(*x.array, line)}));
  }
  const Step& step = step_of(function, dtype);
  x.cast_to(step.cast, line);
  return lazy_object((*step.op)({Operand(*x.array, line)}));
}

/// Returns the objects as arrays of their common element type.
PyObject* in_common(PyObject*, PyObject* const* objects, Py_ssize_t count) {
  return guarded([&] {
    const Line line = user_line();
    std::deque<Argument> arguments;
    for (Py_ssize_t i = 0; i < count; ++i) arguments.emplace_back(objects[i], "an array");
    if (arguments.empty()) refuse("expected at least one array");
    const Dtype dtype = common(arguments);
    py::tuple all(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      arguments[i].cast_to(dtype, line);
      PyTuple_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(i), lazy_object(*arguments[i].array));
    }
    return all.release().ptr();
  });
}

std::deque<Elementwise>& all() {
  static auto& functions = *new std::deque<Elementwise>;
  return functions;
}

std::size_t count_parameters(const ElementwiseRow& row) {
  return std::string_view(row.parameters).contains(',') ? 2 : 1;
}

PyObject* call_elementwise(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    const auto& function = *static_cast<const Elementwise*>(PyCapsule_GetPointer(self, nullptr));
    const std::size_t wanted = count_parameters(*function.row);
    if (static_cast<std::size_t>(count) != wanted) {
      PyErr_Format(PyExc_TypeError, "%s() takes %zu arguments, got %zd", function.row->name, wanted, count);
      throw py::error_already_set();
    }
    return call(function, arguments[0], wanted == 2 ? arguments[1] : nullptr);
  });
}

PyMethodDef functions_of_arrays[] = {
    {"in_common", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(in_common)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* call(const Elementwise& function, PyObject* x, PyObject* y) {
  const Line line = user_line();
  return y != nullptr ? call_on_two(changing(function), x, y, line) : call_on_one(changing(function), x, line);
}

const Elementwise* elementwise(std::string_view name) {
  const auto at = std::ranges::find_if(all(), [&](const Elementwise& each) { return each.row->name == name; });
  return at == all().end() ? nullptr : &*at;
}

void bind_elementwise(py::module_& m) {
  if (PyModule_AddFunctions(m.ptr(), functions_of_arrays) != 0) throw py::error_already_set();
  static auto& methods = *new std::deque<PyMethodDef>;  // never freed, as functions refer to them
  py::dict functions;
  for (const ElementwiseRow& row : kElementwiseRows) {
    Elementwise& function = all().emplace_back(Elementwise{&row, {}, {}});
    function.text_signature = std::string(row.name) + "(" + row.parameters + ", /)\n--\n\n" + row.doc;
    methods.push_back({row.name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_elementwise)),
                       METH_FASTCALL, function.text_signature.c_str()});
    const auto self = py::reinterpret_steal<py::object>(PyCapsule_New(&function, nullptr, nullptr));
    functions[row.name] = py::reinterpret_steal<py::object>(
        PyCFunction_NewEx(&methods.back(), self.ptr(), py::str("frazil.numpy").release().ptr()));
  }
  m.attr("elementwise") = functions;
}

}  // namespace frazil::python
