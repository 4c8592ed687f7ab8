#include <mutex>

#include <pthread.h>

#include "python/src/python.h"

namespace frazil::python {
namespace {

/// Held by fork(), and while a thread makes its state. CPython 3.11 acquires the lock of the list of states in the
/// child before it makes that lock new: if another thread had it, the child waits for ever.
std::mutex making_state;

PyThreadState* new_state() {
  const std::scoped_lock lock(making_state);
  return PyThreadState_New(PyInterpreterState_Main());
}

}  // namespace

void watch_forks() {
  const auto unlock = [] { making_state.unlock(); };
  ::pthread_atfork([] { making_state.lock(); }, unlock, unlock);
}

Locked::Locked() {
  if (_Py_IsFinalizing() != 0) throw Error(Code::cancelled, "the interpreter ends");
  if (PyGILState_GetThisThreadState() != nullptr) {
    state_ = PyGILState_Ensure();
  } else {
    made_ = new_state();
    PyEval_RestoreThread(made_);
  }
}

Locked::~Locked() {
  if (made_ == nullptr) {
    PyGILState_Release(state_);
  } else {
    PyThreadState_Clear(made_);
    PyThreadState_DeleteCurrent();
  }
}

}  // namespace frazil::python
