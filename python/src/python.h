#pragma once

#include <frazil/frazil.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <structmember.h>

namespace frazil::python {

namespace py = pybind11;

/// Releases the interpreter's lock. During its lifetime this thread must not touch Python objects.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() { PyEval_RestoreThread(state_); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};
template <class F>
auto unlocked(F&& f) {
  const Unlocked nothing_locked;
  return f();
}

/// Acquires the interpreter's lock in functions that Frazil calls, on any thread. Throws Code::cancelled during the
/// interpreter's finalisation, when the lock cannot be acquired. Children of fork() that fall into it are whole.
class Locked {
 public:
  Locked();
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyThreadState* made_ = nullptr;  ///< the state of a thread that had none
  PyGILState_STATE state_ = PyGILState_UNLOCKED;
};
/// Call it when the module is imported, before any Locked.
void watch_forks();

[[noreturn]] inline void refuse(const std::string& message) { throw Error(Code::bad_input, message); }

/// Each function defines a part of the module, in the order of the calls in module.cc.
void bind_errors(py::module_& m);
void bind_log(py::module_& m);
void bind_dtypes(py::module_& m);
void bind_arrays(py::module_& m);
void bind_options(py::module_& m);
void bind_observers(py::module_& m);
void bind_policies(py::module_& m);
void bind_governors(py::module_& m);
void bind_sessions(py::module_& m);
void bind_models(py::module_& m);
void bind_builders(py::module_& m);
void bind_operators(py::module_& m);
void bind_live(py::module_& m);
void bind_debug(py::module_& m);
void bind_hosts(py::module_& m);
void bind_lazy(py::module_& m);

}  // namespace frazil::python
