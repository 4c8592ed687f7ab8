#include <algorithm>

#include "python/src/arrays.h"
#include "python/src/raised.h"

namespace frazil::python {
namespace {

/// The classes of frazil.errors, in the order of Code.
constexpr const char* kClasses[] = {"BadModel",    "BadInput",  "Unsupported",  "LimitExceeded",
                                    "OutOfMemory", "Cancelled", "InternalError"};

py::object class_of(Code code) { return py::module_::import("frazil.errors").attr(kClasses[static_cast<int>(code)]); }

void set_error(Code code, const char* message) { PyErr_SetString(class_of(code).ptr(), message); }

void set_error(const Error& error) {
  const py::object exception = exception_of(error);
  PyErr_SetObject(py::type::of(exception).ptr(), exception.ptr());
}

Code code_of(py::handle exception) {
  const py::module_ errors = py::module_::import("frazil.errors");
  for (std::size_t code = 0; code < std::size(kClasses); ++code) {
    if (py::isinstance(exception, errors.attr(kClasses[code]))) return static_cast<Code>(code);
  }
  if (PyErr_GivenExceptionMatches(exception.ptr(), PyExc_MemoryError) != 0) return Code::out_of_memory;
  return PyErr_GivenExceptionMatches(exception.ptr(), PyExc_Exception) != 0 ? Code::bad_input : Code::cancelled;
}

/// The exception of a function that Frazil called on this thread, until the resulting Error is raised.
struct Raised {
  std::string text;  ///< contained in the Error's message
  std::shared_ptr<const void> held;
  PyObject* exception = nullptr;
};
thread_local Raised last_raised;

/// Sets the exception as the cause of the current error. An exception outside of class Exception, such as
/// KeyboardInterrupt, replaces the error.
void chain(const Error& error) {
  const bool interrupt =
      last_raised.exception != nullptr && PyErr_GivenExceptionMatches(last_raised.exception, PyExc_Exception) == 0;
  const bool its = std::string_view(error.what()).find(last_raised.text) != std::string_view::npos;
  if (last_raised.exception == nullptr || !(its || (interrupt && error.code() == Code::cancelled))) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Py_INCREF(last_raised.exception);
  if (interrupt) {
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
    type = py::object(py::type::of(py::handle(last_raised.exception))).release().ptr();
    value = last_raised.exception;
    trace = PyException_GetTraceback(value);
  } else {
    PyException_SetCause(value, last_raised.exception);
  }
  forget_raised();
  PyErr_Restore(type, value, trace);
}

}  // namespace

py::object exception_of(const Error& error) {
  py::object exception = class_of(error.code())(error.what());
  if (!error.node().empty()) exception.attr("node") = error.node();
  return exception;
}

void forget_raised() {
  if (last_raised.exception != nullptr) last_raised = {};
}

void throw_raised(py::error_already_set& error, const std::string& before, const std::string& behind) {
  const py::object exception = error.value();
  if (error.trace()) PyException_SetTraceback(exception.ptr(), error.trace().ptr());
  std::string text = py::str(py::type::of(exception).attr("__name__"));
  const std::string message = py::str(exception);
  if (!message.empty()) text += ": " + message;
  std::ranges::replace(text, '\n', ' ');
  text = before + text + behind;
  last_raised = {text, kept(exception), exception.ptr()};
  throw Error(code_of(exception), text);
}

namespace {

void set_frazils(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Error& error) {
    set_error(error);
    chain(error);
  } catch (const std::bad_alloc&) {
    set_error(Code::out_of_memory, "an allocation failed");
  }
}

}  // namespace

void set_python_error() noexcept {
  try {
    set_frazils(std::current_exception());
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void bind_errors(py::module_&) { py::register_local_exception_translator(set_frazils); }

}  // namespace frazil::python
