#pragma once

#include "python/src/python.h"

namespace frazil::python {

/// Throws the exception of a Python function that Frazil called as an Error. The code is that of a frazil.Error, or
/// otherwise follows the contract of HostOperator. When the Error is raised in Python on the same thread, the exception
/// is its cause. An exception outside of class Exception, such as KeyboardInterrupt, is raised itself.
[[noreturn]] void throw_raised(py::error_already_set& error, const std::string& before = {},
                               const std::string& behind = {});
/// Returns the Python exception for an error.
py::object exception_of(const Error& error);
/// Call in a catch block without an enclosing pybind11 function. Sets Python's exception to the caught one.
void set_python_error() noexcept;
/// Call before a run. Drops an exception whose Error was never raised.
void forget_raised();

}  // namespace frazil::python
