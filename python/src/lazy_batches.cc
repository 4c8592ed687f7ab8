#include <utility>

#include "python/src/arrays.h"
#include "python/src/interrupt.h"
#include "python/src/lazy.h"

// Instances of a batch on greenlets or threads, which Python creates (frazil/lazy/batches.py), and the interpreter's
// lock.
namespace frazil::python {
namespace {

// ---- the lock ----

bool has_lock() { return PyGILState_Check() != 0; }

void run_unlocked(const std::function<void()>& work, const std::function<void()>& cancel) {
  forget_raised();
  const Interruptible interruptible(cancel);
  {
    const Unlocked unlocked;
    work();
  }
  drop_left();
  interruptible.raise_pending();
}

// ---- instances ----

/// Returns pybind11's stack of active calls. These must end in reverse order, so no other greenlet may run in between.
template <class Internals>
void* calls_of(Internals& internals) {
  if constexpr (requires { internals.loader_life_support_tls_key; }) {
    return PYBIND11_TLS_GET_VALUE(internals.loader_life_support_tls_key);
  } else {
    return internals.loader_life_support_tls.get();
  }
}
void* calls_now() {
#if PYBIND11_INTERNALS_VERSION == 4
  return calls_of(py::detail::get_local_internals());
#else
  return calls_of(py::detail::get_internals());
#endif
}

/// Requests values from a Python function, which suspends the greenlet or thread until they exist. The function returns
/// False if it cannot suspend, for example in a greenlet of the user.
class Waiting : public api::detail::Instances {
 public:
  explicit Waiting(py::object await) : await_(std::move(await)) {}

  std::optional<Error> await(std::span<const LazyArray> wanted) override {
    py::list arrays;
    for (const LazyArray& array : wanted) arrays.append(py::reinterpret_steal<py::object>(lazy_object(array)));
    const bool waited = calls_now() == calls_ && await_(arrays).is(py::handle(Py_True));
    if (!waited) run_alone(wanted);
    return std::nullopt;
  }

  /// Calls a function in which instances continue.
  py::object enter(PyObject* function, PyObject* argument) {
    calls_ = calls_now();
    const api::detail::Joined joined(this);
    auto made = py::reinterpret_steal<py::object>(PyObject_CallOneArg(function, argument));
    if (!made) throw py::error_already_set();
    return made;
  }

 private:
  static void run_alone(std::span<const LazyArray> wanted) {
    const api::detail::Joined nobody(nullptr);
    std::vector<const LazyArray*> all;
    for (const LazyArray& array : wanted) all.push_back(&array);
    api::detail::settle(all);
  }

  py::object await_;
  void* calls_ = nullptr;
};

constexpr const char* kWaiting = "frazil.Waiting";

py::object make_waiting(const py::object& await) {
  return py::capsule(new Waiting(await), kWaiting,
                     [](PyObject* capsule) { delete static_cast<Waiting*>(PyCapsule_GetPointer(capsule, kWaiting)); });
}

/// enter_instances(waiting, function, argument). Not a pybind11 function, as greenlets are switched inside.
PyObject* enter_instances(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 3) refuse("enter_instances() takes 3 arguments");
    auto* const waiting = static_cast<Waiting*>(PyCapsule_GetPointer(arguments[0], kWaiting));
    if (waiting == nullptr) throw py::error_already_set();
    return waiting->enter(arguments[1], arguments[2]).release().ptr();
  });
}

/// Computes the values of arrays together with those of the other instances.
PyObject* settle(PyObject*, PyObject* arrays) {
  return guarded([&] {
    std::vector<const LazyArray*> all;
    for (const py::handle each : py::reinterpret_borrow<py::list>(arrays)) {
      const LazyArray* const array = lazy_of(each.ptr());
      if (array != nullptr && !api::detail::is_traced(*array)) all.push_back(array);
    }
    api::detail::settle(all);
    return Py_NewRef(Py_None);
  });
}

/// Computes the arrays that each instance waits for. Returns an exception or None for each, and the counts of programs
/// and nodes that were run.
py::tuple settle_together(const py::list& wanted) {
  std::vector<std::vector<LazyArray>> all;
  for (const py::handle instance : wanted) {
    std::vector<LazyArray>& arrays = all.emplace_back();
    for (const py::handle each : instance) arrays.push_back(*lazy_of(each.ptr()));
  }
  BatchReport report;
  const auto errors = api::detail::settle_together(all, report);
  py::list exceptions;
  for (const std::optional<Error>& error : errors) {
    exceptions.append(error ? exception_of(*error) : py::object(py::none()));
  }
  return py::make_tuple(exceptions, report.runs, report.nodes);
}

PyObject* is_recording(PyObject*, PyObject*) { return PyBool_FromLong(api::detail::tracing() ? 1 : 0); }

PyMethodDef batch_functions[] = {
    {"enter_instances", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(enter_instances)), METH_FASTCALL,
     nullptr},
    {"settle", settle, METH_O, nullptr},
    {"is_recording", is_recording, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void bind_lazy_batches(py::module_& m) {
  api::detail::set_lock(has_lock, run_unlocked);
  if (PyModule_AddFunctions(m.ptr(), batch_functions) != 0) throw py::error_already_set();
  m.def("waiting", &make_waiting);
  m.def("settle_together", &settle_together);
  m.def("calls_recalled", &api::detail::recalled);
  m.def("forget_thread", &api::detail::forget_thread);
}

void bind_lazy(py::module_& m) {
  bind_lazy_class(m);
  bind_elementwise(m);
  bind_lazy_operators(m);
  bind_lazy_functions(m);
  bind_lazy_batches(m);
}

}  // namespace frazil::python
