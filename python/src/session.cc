#include "python/src/session.h"

#include <chrono>

#include "python/src/docs.h"
#include "python/src/interrupt.h"
#include "python/src/log.h"
#include "python/src/observer.h"
#include "python/src/raised.h"

namespace frazil::python {

Signature::Signature(const Model& of) : model(of.name()) {
  for (const Port& port : of.inputs()) {
    positions[py::str(port.name)] = inputs.size();
    inputs.push_back(AwaitedValues::of(port));
  }
  for (const Port& port : of.outputs()) {
    outputs.push_back(py::str(port.name));
    output_positions[outputs.back()] = outputs.size() - 1;
  }
}

namespace {

std::size_t position(const std::string& model, const char* kind, const py::dict& positions, py::handle name) {
  PyObject* found = PyDict_GetItemWithError(positions.ptr(), name.ptr());
  if (found != nullptr) return PyLong_AsSize_t(found);
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  std::string known;
  for (const auto [port, at] : positions) known += (known.empty() ? "" : ", ") + py::repr(port).cast<std::string>();
  refuse("model '" + model + "' has no " + kind + " " + py::repr(name).cast<std::string>() + "; it has " +
         (known.empty() ? "none" : known));
}

}  // namespace

std::size_t Signature::input(py::handle name) const { return position(model, "input", positions, name); }
std::size_t Signature::output(py::handle name) const { return position(model, "output", output_positions, name); }

Session open_unlocked(const Model& model, const Options& options) {
  const Unlocked unlocked;
  return model.open(options);
}

Worker::Worker(Session& session, std::shared_ptr<const Signature> signature)
    : session_(session), signature_(std::move(signature)), inputs_(signature_->inputs.size()) {}

void bind_named(const Signature& signature, py::handle inputs, const SetInput& set) {
  py::dict copy;
  if (!PyDict_Check(inputs.ptr())) {
    if (!py::hasattr(inputs, "keys")) refuse("run() takes a dict of input names to values");
    copy = py::dict(py::reinterpret_borrow<py::object>(inputs));
    inputs = copy;
  }
  PyObject *name, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(inputs.ptr(), &at, &name, &value) != 0) {
    const std::size_t i = signature.input(name);
    set(i, array_of(value, signature.inputs[i]));
  }
}

void bind_call(const Signature& signature, const py::args& args, const py::kwargs& kwargs, const SetInput& set) {
  const auto& inputs = signature.inputs;
  if (args.size() > inputs.size()) {
    refuse("model '" + signature.model + "' has " + std::to_string(inputs.size()) + " inputs, got " +
           std::to_string(args.size()));
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    set(i, array_of(PyTuple_GET_ITEM(args.ptr(), static_cast<Py_ssize_t>(i)), inputs[i]));
  }
  for (const auto [name, value] : kwargs) {
    const std::size_t i = signature.input(name);
    if (i < args.size()) refuse(inputs[i].what + " was given twice");
    set(i, array_of(value, inputs[i]));
  }
}

py::object alone_or_tuple(Results results) {
  if (results.size() == 1) return object_of(results.take(0));
  py::tuple all(results.size());
  for (std::size_t k = 0; k < results.size(); ++k) all[k] = object_of(results.take(k));
  return all;
}

std::vector<std::size_t> RunCall::listed(const Signature& signature) const {
  std::vector<std::size_t> positions;
  if (first_.is_none()) {
    for (std::size_t k = 0; k < signature.outputs.size(); ++k) positions.push_back(k);
    return positions;
  }
  if (!PyList_Check(first_.ptr()) && !PyTuple_Check(first_.ptr())) {
    refuse("run() takes a list of the names of outputs, or None for all, before the dict of inputs");
  }
  for (const py::handle name : first_) positions.push_back(signature.output(name));
  return positions;
}

void RunCall::check(const Signature& signature) const {
  if (!feeds_.is_none()) listed(signature);
}

py::object RunCall::results(Results made, const Signature& signature, const std::vector<py::object>& given) const {
  std::vector<py::object> objects(made.size());
  const auto object = [&](std::size_t k) {
    if (k < given.size() && given[k]) return given[k];
    if (!objects[k]) objects[k] = object_of(made.take(k));
    return objects[k];
  };
  if (!feeds_.is_none()) {
    py::list list;
    for (const std::size_t k : listed(signature)) list.append(object(k));
    return list;
  }
  py::dict named;
  for (std::size_t k = 0; k < made.size(); ++k) {
    if (PyDict_SetItem(named.ptr(), signature.outputs[k].ptr(), object(k).ptr()) != 0) throw py::error_already_set();
  }
  return named;
}

BoundOutputs::BoundOutputs(Session& session, const Signature& signature, const py::object& out)
    : session_(session), signature_(signature) {
  if (out.is_none()) return;
  if (!PyDict_Check(out.ptr())) refuse("out: expected a dict of the names of outputs to arrays");
  objects_.resize(signature.outputs.size());
  arrays_.resize(signature.outputs.size());
  try {
    for (const auto [name, object] : py::reinterpret_borrow<py::dict>(out)) {
      bind(signature.output(name), py::str(name), py::reinterpret_borrow<py::object>(object));
    }
  } catch (...) {
    unbind();
    throw;
  }
}

BoundOutputs::~BoundOutputs() { unbind(); }

void BoundOutputs::bind(std::size_t output, const std::string& name, const py::object& object) {
  const std::string what = "out[" + py::repr(py::str(name)).cast<std::string>() + "]";
  arrays_[output] = py::isinstance<py::array>(object) ? object : array_of_dlpack(object, what);
  const WritableArray to = writable_array(arrays_[output], what);
  session_.bind_output(name, to.dtype, to.memory);
  names_.push_back(name);
  objects_[output] = object;
}

void BoundOutputs::unbind() noexcept {
  for (const std::string& name : names_) session_.unbind_output(name);
  names_.clear();
}

void BoundOutputs::check(const Results& results) const {
  for (std::size_t k = 0; k < arrays_.size(); ++k) {
    if (!arrays_[k]) continue;
    const py::tuple got(py::cast(results[k].sizes())), given(arrays_[k].attr("shape"));
    if (got.equal(given)) continue;
    refuse("out[" + py::repr(py::str(signature_.outputs[k])).cast<std::string>() + "]: the result has the shape " +
           py::str(got).cast<std::string>() + ", the array " + py::str(given).cast<std::string>());
  }
}

Busy::Busy(bool& busy, std::vector<Array>& inputs) : busy_(busy), inputs_(inputs) {
  if (busy_) refuse("the session is in use by another thread: open one for each, or call the model");
  busy_ = true;
  forget_raised();
}

Busy::~Busy() {
  for (Array& input : inputs_) input = Array();
  busy_ = false;
  drop_left();
}

Results Worker::execute() {
  Results results;
  const Interruptible interruptible(session_);
  try {
    const Unlocked unlocked;
    session_.run(std::span<const Array>(inputs_), results);
  } catch (const Error& error) {
    if (error.code() == Code::cancelled) interruptible.raise_pending();
    throw;
  }
  return results;
}

Results Worker::results(py::handle inputs) {
  const Busy busy(busy_, inputs_);
  bind_named(*signature_, inputs, set());
  return execute();
}

double Worker::time_runs(py::handle inputs, int runs) {
  const Busy busy(busy_, inputs_);
  bind_named(*signature_, inputs, set());
  const Unlocked unlocked;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < runs; ++i) {
    Results results;
    session_.run(std::span<const Array>(inputs_), results);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / runs;
}

namespace {

class Following {
 public:
  Following(RunToken* token, Session& session) : token_(token) {
    if (token_ != nullptr) token_->follow(&session);
  }
  ~Following() {
    if (token_ != nullptr) token_->follow(nullptr);
  }
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

 private:
  RunToken* const token_;
};

}  // namespace

py::object Worker::run(const RunCall& call, const py::object& out, RunToken* token) {
  const Busy busy(busy_, inputs_);
  const Following following(token, session_);
  call.check(*signature_);
  bind_named(*signature_, call.inputs(), set());
  const BoundOutputs bound(session_, *signature_, out);
  Results made = execute();
  bound.check(made);
  return call.results(std::move(made), *signature_, bound.objects());
}

py::object Worker::call(const py::args& args, const py::kwargs& kwargs) {
  const Busy busy(busy_, inputs_);
  bind_call(*signature_, args, kwargs, set());
  return alone_or_tuple(execute());
}

namespace {

/// An explicit session with its observer.
struct SessionObject {
  Session session;
  std::unique_ptr<Worker> worker;
  std::unique_ptr<PythonObserver> observer;
  std::optional<Profiler> profiler;
  bool traced = false;

  SessionObject(const Model& model, const Options& options)
      : session(open_unlocked(model, options)),
        worker(std::make_unique<Worker>(session, std::make_shared<Signature>(model))) {}
  SessionObject(const SessionObject&) = delete;
  SessionObject& operator=(const SessionObject&) = delete;
  ~SessionObject() { worker->set_observer(nullptr); }
  template <class F>
  auto observed(F&& run) {
    try {
      auto result = run();
      if (observer) observer->raise_pending();
      return result;
    } catch (...) {
      if (observer) observer->raise_pending();
      throw;
    }
  }
  void observe(const py::object& object) {
    if (worker->busy()) refuse("the session is running");
    worker->set_observer(nullptr);
    observer.reset();
    if (object.is_none()) return;
    auto made = std::make_unique<PythonObserver>(object, worker->session());
    worker->set_observer(made.get());
    observer = std::move(made);
  }
  void start_profile(std::size_t trace_events) {
    if (worker->busy()) refuse("the session is running");
    Profiler made({.trace_events = trace_events});
    session.start_profile(made);
    profiler = std::move(made);
    traced = trace_events > 0;
  }
  py::object stop_profile() {
    if (worker->busy()) refuse("the session is running");
    if (!profiler) refuse("the session is not profiled");
    session.stop_profile();
    py::object made = profile_object(worker->model(), *profiler, traced);
    profiler.reset();
    return made;
  }
};

}  // namespace

void bind_sessions(py::module_& m) {
  py::class_<Counters>(m, "Counters", "What a session has done since it was opened.")
      .def_readonly("runs", &Counters::runs, "The number of runs.")
      .def_readonly("plans", &Counters::plans,
                    "The number of plans used; a second one only when a branch changes a rank.")
      .def_readonly("shape_changes", &Counters::shape_changes, "The number of runs with other extents than before.")
      .def_readonly("prepared", &Counters::prepared, "The number of kernel steps prepared for new extents.")
      .def_readonly("iterations", &Counters::iterations, "The number of iterations of loops.")
      .def_readonly("held_bytes", &Counters::held_bytes, "The bytes held for intermediate values at present.")
      .def("__repr__", [](const Counters& c) {
        return "Counters(runs=" + std::to_string(c.runs) + ", plans=" + std::to_string(c.plans) +
               ", shape_changes=" + std::to_string(c.shape_changes) + ", prepared=" + std::to_string(c.prepared) +
               ", iterations=" + std::to_string(c.iterations) + ", held_bytes=" + std::to_string(c.held_bytes) + ")";
      });
  py::class_<SessionObject>(m, "Session",
                            R"(Runs a model on one thread, with memory and counters of its own: Model.session().

A session that runs on one thread refuses to run on another; cancel() works from any.)")
      .def(
          "run",
          [](SessionObject& s, const py::object& inputs, const py::object& feeds, const py::object& out) {
            return s.observed([&] { return s.worker->run({inputs, feeds}, out); });
          },
          py::arg("inputs") = py::dict(), py::arg("feeds") = py::none(), py::kw_only(), py::arg("out") = py::none(),
          docs::kSessionRun)
      .def(
          "__call__",
          [](SessionObject& s, const py::args& args, const py::kwargs& kwargs) {
            return s.observed([&] { return s.worker->call(args, kwargs); });
          },
          "__call__(self, *args, **kwargs)\n--\n\nAs Model.__call__().")
      .def(
          "cancel", [](SessionObject& s) { s.worker->session().cancel(); }, docs::kCancel)
      .def(
          "trim",
          [](SessionObject& s) {
            if (s.worker->busy()) refuse("the session is running");
            s.worker->session().trim();
          },
          docs::kSessionTrim)
      .def("observe", &SessionObject::observe, py::arg("observer"), docs::kObserve)
      .def("start_profile", &SessionObject::start_profile, py::kw_only(), py::arg("trace_events") = 0,
           docs::kStartProfile)
      .def("stop_profile", &SessionObject::stop_profile, docs::kStopProfile)
      .def_property_readonly(
          "counters",
          [](SessionObject& s) {
            if (s.worker->busy()) refuse("the session is running");
            return s.worker->session().counters();
          },
          "What the session has done. Raises BadInput while it runs.")
      .def("__repr__", [](SessionObject& s) {
        const std::string runs =
            s.worker->busy() ? "running" : std::to_string(s.worker->session().counters().runs) + " runs";
        return "<frazil.Session of '" + s.worker->model() + "', " + runs + ">";
      });
  m.def("time_runs", [](const Model& model, const Options& options, const py::object& inputs, int runs) {
    Session session = open_unlocked(model, options);
    return Worker(session, std::make_shared<Signature>(model)).time_runs(inputs, runs);
  });
  m.def("open_session", [](const Model& model, const Options& options) {
    refresh_log();
    return std::make_unique<SessionObject>(model, options);
  });
}

}  // namespace frazil::python
