#include "python/src/interrupt.h"
#include "python/src/session.h"

namespace frazil::python {
namespace {

/// Returns (why, value, node, op, iterations, around, breakpoint).
py::tuple tuple_of_stop(const Debugger::Stop& stop) {
  constexpr const char* kWhy[] = {"step", "breakpoint", "ended"};
  return py::make_tuple(kWhy[static_cast<int>(stop.why)], stop.value, stop.node, stop.op,
                        py::tuple(py::cast(stop.iterations)), stop.around, stop.breakpoint);
}

/// A Debugger with its Python inputs and outputs.
class DebugWorker {
 public:
  DebugWorker(const Model& model, const Options& options)
      : model_(model), signature_(model), debugger_(unlocked([&] { return Debugger(model, options); })) {}
  /// Releases the lock, as the thread of the run may be waiting for it.
  ~DebugWorker() {
    const Unlocked nothing_locked;
    debugger_.reset();
  }
  DebugWorker(const DebugWorker&) = delete;
  DebugWorker& operator=(const DebugWorker&) = delete;

  py::tuple begin(py::handle inputs, bool steps) {
    std::vector<Array> values(signature_.inputs.size());
    std::vector<bool> given(values.size());
    bind_named(signature_, inputs, [&](std::size_t i, Array value) {
      values[i] = copied(std::move(value));
      given[i] = true;
    });
    std::vector<Named> named;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (given[i]) named.push_back({model_.inputs()[i].name, values[i]});
    }
    return go([&](Debugger& d) { return steps ? d.start(named) : d.run(std::span<const Named>(named)); });
  }
  template <class F>
  py::tuple go(const F& move) {
    const Interruptible interruptible(*debugger_);
    try {
      return tuple_of_stop(unlocked([&] { return move(*debugger_); }));
    } catch (const Error& error) {
      if (error.code() == Code::cancelled) interruptible.raise_pending();
      throw;
    }
  }
  py::object value(const std::string& name) {
    return object_of(copied(unlocked([&] { return debugger_->value(name); })));
  }
  py::tuple set(const std::string& name, py::handle value) {
    const Array old = unlocked([&] { return debugger_->value(name); });
    AwaitedValues wanted{.what = "value '" + name + "'", .kind = Array::Kind::tensor, .dtype = {}, .key = {}};
    if (old.is_tensor()) wanted.dtype = old.dtype();
    const Array array = copied(array_of(value, wanted));
    return go([&](Debugger& d) { return d.set(name, array); });
  }
  py::dict results() {
    py::dict named;
    std::vector<Array> values = debugger_->results();
    for (std::size_t k = 0; k < values.size(); ++k) named[signature_.outputs[k]] = object_of(copied(values[k]));
    return named;
  }
  Debugger& debugger() { return *debugger_; }

 private:
  Model model_;
  Signature signature_;
  std::optional<Debugger> debugger_;
};

py::tuple tuple_of_divergence(const Divergence& d) {
  return py::make_tuple(d.compared, d.differ, d.value, d.node, d.what, py::tuple(py::cast(d.iterations)));
}

py::tuple compare_models(const Model& a, const Model& b, const py::dict& inputs, const Options& of_a,
                         const Options& of_b, double rtol, double atol, double of_largest) {
  const Signature signature(a);
  std::vector<Named> named;
  std::vector<Array> values(signature.inputs.size());
  bind_named(signature, inputs, [&](std::size_t i, Array value) { values[i] = std::move(value); });
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].empty()) named.push_back({a.inputs()[i].name, values[i]});
  }
  const CompareOptions options{of_a, of_b, rtol, atol, of_largest};
  return tuple_of_divergence(unlocked([&] { return compare(a, b, named, options); }));
}

}  // namespace

void bind_debug(py::module_& m) {
  py::class_<DebugWorker>(m, "Debugger")
      .def(py::init<const Model&, const Options&>())
      .def("begin", &DebugWorker::begin)
      .def("step", [](DebugWorker& w) { return w.go([](Debugger& d) { return d.step(); }); })
      .def("next", [](DebugWorker& w) { return w.go([](Debugger& d) { return d.next(); }); })
      .def("into", [](DebugWorker& w) { return w.go([](Debugger& d) { return d.into(); }); })
      .def("out", [](DebugWorker& w) { return w.go([](Debugger& d) { return d.out(); }); })
      .def("resume", [](DebugWorker& w) { return w.go([](Debugger& d) { return d.resume(); }); })
      .def("add_breakpoint", [](DebugWorker& w, const std::string& what) { return w.debugger().add_breakpoint(what); })
      .def("remove_breakpoint", [](DebugWorker& w, std::uint32_t number) { w.debugger().remove_breakpoint(number); })
      .def("value", &DebugWorker::value)
      .def("set", &DebugWorker::set)
      .def("values", [](DebugWorker& w) { return w.debugger().values(); })
      .def("why_missing", [](DebugWorker& w, const std::string& name) { return w.debugger().why_missing(name); })
      .def("results", &DebugWorker::results)
      .def("cancel", [](DebugWorker& w) { w.debugger().cancel(); });
  m.def("compare", &compare_models);
}

}  // namespace frazil::python
