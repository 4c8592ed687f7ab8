#include "python/src/python.h"

namespace frazil::python {
namespace {

/// The classes of frazil.errors, in the order of Code.
constexpr const char* kClasses[] = {"BadModel",    "BadInput",  "Unsupported",  "LimitExceeded",
                                    "OutOfMemory", "Cancelled", "InternalError"};

void set_error(Code code, const char* message) {
  const py::module_ errors = py::module_::import("frazil.errors");
  PyErr_SetString(errors.attr(kClasses[static_cast<int>(code)]).ptr(), message);
}

}  // namespace

void bind_errors(py::module_&) {
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      set_error(error.code(), error.what());
    } catch (const std::bad_alloc&) {
      set_error(Code::out_of_memory, "an allocation failed");
    }
  });
}

}  // namespace frazil::python
