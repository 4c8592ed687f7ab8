#pragma once

#include "python/src/python.h"

namespace frazil::python {

/// Throws what a Python function that Frazil called has raised, as an Error: with the code of a frazil.Error, else as
/// the contract of HostOperator says. Where this Error is raised in Python, on the same thread, the exception is its
/// cause; an exception that is no Exception, such as KeyboardInterrupt, is raised itself.
[[noreturn]] void throw_raised(py::error_already_set& error, const std::string& before = {},
                               const std::string& behind = {});
/// Before a run: forgets an exception whose Error was never raised.
void forget_raised();

}  // namespace frazil::python
