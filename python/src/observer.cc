#include "python/src/observer.h"

#include <algorithm>

#include "python/src/arrays.h"
#include "python/src/session.h"

namespace frazil::python {
namespace {

constexpr const char* kObserverFunctions[] = {"run_begin", "run_end",        "node_begin", "node_end", "branch",
                                              "iteration", "shapes_changed", "value",      "without"};

py::tuple tuple_of_numbers(std::span<const std::int64_t> numbers) {
  py::tuple made(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) made[i] = numbers[i];
  return made;
}

py::object node_of(const NodeEvent& event) {
  static PyObject* type = py::object(py::module_::import("frazil.observe").attr("NodeEvent")).release().ptr();
  return py::handle(type)(event.name, event.op, event.id);
}

}  // namespace

PythonObserver::PythonObserver(py::object to, Session& session) : to_(std::move(to)), session_(session) {
  const py::object base = py::module_::import("frazil.observe").attr("Observer");
  if (!py::isinstance(to_, base)) throw py::type_error("an observer must derive from frazil.Observer");
  for (int f = 0; f < kCount; ++f) {
    const py::object own = to_.attr("__class__").attr(kObserverFunctions[f]);
    if (!own.is(base.attr(kObserverFunctions[f]))) functions_[f] = to_.attr(kObserverFunctions[f]);
  }
  wanted_ = to_.attr("wanted")().cast<std::vector<std::string>>();
}

PythonObserver::~PythonObserver() = default;

void PythonObserver::raise_pending() {
  if (!raised_) return;
  const auto raised = std::move(raised_);
  throw py::error_already_set(*raised);
}

template <class... A>
py::object PythonObserver::call(Function function, A&&... arguments) {
  if (!functions_[function]) return py::none();
  if (raised_) return py::none();
  try {
    return functions_[function](arguments...);
  } catch (py::error_already_set& error) {
    raised_ = std::make_unique<py::error_already_set>(error);
    session_.cancel();
  }
  return py::none();
}

// The lock is only acquired for overridden methods.
void PythonObserver::run_begin() {
  if (!functions_[kRunBegin]) return;
  const Locked locked;
  call(kRunBegin);
}
void PythonObserver::run_end() {
  if (!functions_[kRunEnd]) return;
  const Locked locked;
  call(kRunEnd);
}
void PythonObserver::node_begin(const NodeEvent& event) {
  if (!functions_[kNodeBegin]) return;
  const Locked locked;
  call(kNodeBegin, node_of(event));
}
void PythonObserver::node_end(const NodeEvent& event) {
  if (!functions_[kNodeEnd]) return;
  const Locked locked;
  call(kNodeEnd, node_of(event));
}
void PythonObserver::branch(const NodeEvent& event, bool taken) {
  if (!functions_[kBranch]) return;
  const Locked locked;
  call(kBranch, node_of(event), taken);
}
void PythonObserver::iteration(const NodeEvent& event) {
  if (!functions_[kIteration]) return;
  const Locked locked;
  call(kIteration, node_of(event));
}
void PythonObserver::shapes_changed() {
  if (!functions_[kShapes]) return;
  const Locked locked;
  call(kShapes);
}
std::vector<std::string> PythonObserver::wanted() const { return wanted_; }
void PythonObserver::value(const ValueEvent& event) {
  if (!functions_[kValue]) return;
  const Locked locked;
  call(kValue, event.name, object_of(event.value), tuple_of_numbers(event.iterations));
}
bool PythonObserver::without(std::string_view name, std::string_view why) {
  if (!functions_[kWithout]) return false;
  const Locked locked;
  const py::object answer = call(kWithout, name, why);
  return PyObject_IsTrue(answer.ptr()) == 1;
}

namespace {

/// Stores inner values, which does not need the interpreter's lock.
class Fetcher : public Observer {
 public:
  explicit Fetcher(std::vector<std::string> names) : names_(std::move(names)) {}
  std::vector<std::string> wanted() const override { return names_; }
  void value(const ValueEvent& event) override {
    kept_.push_back({std::string(event.name), event.value, {event.iterations.begin(), event.iterations.end()}});
  }
  /// Returns a list of (name, value, iterations).
  py::list list() const {
    py::list all;
    for (const Kept& one : kept_)
      all.append(py::make_tuple(one.name, object_of(one.value), tuple_of_numbers(one.iterations)));
    return all;
  }

 private:
  struct Kept {
    std::string name;
    Array value;
    std::vector<std::int64_t> iterations;
  };
  std::vector<std::string> names_;
  std::vector<Kept> kept_;
};

}  // namespace

py::object profile_object(const std::string& model, const Profiler& profiler, bool traced) {
  const Profile profile = unlocked([&] { return profiler.profile(); });
  py::list rows;
  for (const Profile::Row& row : profile.rows) rows.append(py::make_tuple(row.node, row.op, row.calls, row.seconds));
  const std::string trace = traced ? unlocked([&] { return profiler.trace(model); }) : std::string();
  return py::module_::import("frazil.observe").attr("Profile")(model, profile.runs, profile.seconds, rows, trace);
}

void bind_observers(py::module_& m) {
  m.def("fetch",
        [](const Model& model, const Options& options, const py::object& inputs, std::vector<std::string> values) {
          Fetcher fetcher(std::move(values));
          Session session = open_unlocked(model, options);
          Worker worker(session, std::make_shared<Signature>(model));
          worker.set_observer(&fetcher);
          worker.results(inputs);
          return fetcher.list();
        });
  m.def("profile", [](const Model& model, const Options& options, const py::object& inputs, int warmup, int runs,
                      std::size_t trace_events) {
    const Profiler profiler({.trace_events = trace_events});
    Session session = open_unlocked(model, options);
    Worker worker(session, std::make_shared<Signature>(model));
    for (int i = 0; i < warmup; ++i) worker.results(inputs);
    session.start_profile(profiler);
    for (int i = 0; i < runs; ++i) worker.results(inputs);
    session.stop_profile();
    return profile_object(model.name(), profiler, trace_events > 0);
  });
}

}  // namespace frazil::python
