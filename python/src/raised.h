#pragma once

#include "python/src/python.h"

namespace frazil::python {

/// Throws what a Python function that Frazil called has raised, as an Error: with the code of a frazil.Error, else as
/// the contract of HostOperator says. Where this Error is raised in Python, on the same thread, the exception is its
/// cause; an exception that is no Exception, such as KeyboardInterrupt, is raised itself.
[[noreturn]] void throw_raised(py::error_already_set& error, const std::string& before = {},
                               const std::string& behind = {});
/// The exception of an error.
py::object exception_of(const Error& error);
/// In a catch block, where no pybind11 function is around: sets Python's exception to what was thrown.
void set_python_error() noexcept;
/// Before a run: forgets an exception whose Error was never raised.
void forget_raised();

}  // namespace frazil::python
