#include "python/src/builder.h"
#include "python/src/docs.h"
#include "python/src/interrupt.h"
#include "python/src/session.h"

namespace frazil::python {
namespace {

/// Returns (number, parent, author, reason, seconds since 1970, change, model).
py::tuple tuple_of(const Version& v) {
  const double seconds = std::chrono::duration<double>(v.made.time_since_epoch()).count();
  return py::make_tuple(v.number, v.parent, v.note.author, v.note.reason, seconds, v.change, v.model);
}

/// A LiveSession with its Python inputs and outputs. One run at a time.
class LiveWorker {
 public:
  explicit LiveWorker(LiveSession session) : session_(std::move(session)) {}

  py::object run(const py::object& inputs, const py::object& feeds) {
    const Busy busy(busy_, inputs_);
    const RunCall call(inputs, feeds);
    Results results = execute([&](const SetInput& set) {
      call.check(*signature_);
      bind_named(*signature_, call.inputs(), set);
    });
    return call.results(std::move(results), *signature_);
  }
  py::object call(const py::args& args, const py::kwargs& kwargs) {
    const Busy busy(busy_, inputs_);
    return alone_or_tuple(execute([&](const SetInput& set) { bind_call(*signature_, args, kwargs, set); }));
  }
  void carry(const std::string& output, const std::string& input) {
    refuse_running();
    session_.carry(output, input);
  }
  void reset() {
    refuse_running();
    session_.reset();
  }
  std::uint64_t version() const { return version_; }
  void cancel() noexcept { session_.cancel(); }

 private:
  void refuse_running() const {
    if (busy_) refuse("the session is running");
  }

  template <class F>
  Results execute(F&& bind) {
    const Interruptible interruptible(session_);
    try {
      const Unlocked unlocked;
      return session_.run_with([&](const Version& version) {
        const Locked locked;
        follow(version);
        return named(version, bind);
      });
    } catch (const Error& error) {
      if (error.code() == Code::cancelled) interruptible.raise_pending();
      throw;
    }
  }

  void follow(const Version& version) {
    if (version.number == version_) return;
    signature_ = std::make_shared<Signature>(version.model);
    version_ = version.number;
  }

  template <class F>
  std::vector<Named> named(const Version& version, F& bind) {
    inputs_.assign(signature_->inputs.size(), {});
    std::vector<bool> given(inputs_.size());
    bind([&](std::size_t i, Array value) {
      inputs_[i] = std::move(value);
      given[i] = true;
    });
    std::vector<Named> made;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (given[i]) made.push_back({version.model.inputs()[i].name, inputs_[i]});
    }
    return made;
  }

  LiveSession session_;
  std::shared_ptr<const Signature> signature_;
  std::uint64_t version_ = 0;  ///< the version that `signature_` describes
  std::vector<Array> inputs_;
  bool busy_ = false;
};

void bind_sessions_of_versions(py::module_& m) {
  py::class_<LiveWorker>(m, "LiveSession",
                         R"(Runs whatever version is current when a run begins, on one thread: LiveModel.open().

A session that runs on one thread refuses to run on another; cancel() works from any.)")
      .def("run", &LiveWorker::run, py::arg("inputs") = py::dict(), py::arg("feeds") = py::none(), docs::kLiveRun)
      .def(
          "__call__", &LiveWorker::call,
          "__call__(self, *args, **kwargs)\n--\n\nAs run(), of inputs by position or keyword. Returns the output, or a "
          "tuple of several.")
      .def("carry", &LiveWorker::carry, py::arg("output"), py::arg("input"), docs::kCarry)
      .def("reset", &LiveWorker::reset, docs::kReset)
      .def("cancel", &LiveWorker::cancel, docs::kCancel)
      .def_property_readonly("version", &LiveWorker::version,
                             "The number of the version that the last run was of, or is of; 0: none yet.");
}

}  // namespace

void bind_live(py::module_& m) {
  bind_sessions_of_versions(m);
  py::class_<LiveModel>(m, "LiveModel")
      .def(py::init([](const Model& first, const std::string& author, const std::string& reason, std::size_t most) {
        return unlocked([&] { return LiveModel(first, {author, reason}, most); });
      }))
      .def("current", [](const LiveModel& live) { return tuple_of(live.current()); })
      .def("history",
           [](const LiveModel& live) {
             py::list all;
             for (const Version& version : live.history()) all.append(tuple_of(version));
             return all;
           })
      .def("version", [](const LiveModel& live, std::uint64_t number) { return tuple_of(live.version(number)); })
      .def("commit",
           [](LiveModel& live, PatchObject& patch, const std::string& author, const std::string& reason) {
             return tuple_of(unlocked([&] { return live.commit(patch.patch, {author, reason}); }));
           })
      .def("publish",
           [](LiveModel& live, const Model& model, const std::string& author, const std::string& reason) {
             return tuple_of(unlocked([&] { return live.publish(model, {author, reason}); }));
           })
      .def("roll_back",
           [](LiveModel& live, std::uint64_t number, const std::string& author, const std::string& reason) {
             return tuple_of(unlocked([&] { return live.roll_back(number, {author, reason}); }));
           })
      .def("forget", [](LiveModel& live, std::uint64_t number) { unlocked([&] { live.forget(number); }); })
      .def("open", [](const LiveModel& live, const Options& options) {
        return std::make_unique<LiveWorker>(unlocked([&] { return live.open(options); }));
      });
  m.def("registry_put", [](const std::string& name, const LiveModel& live) { Registry::instance().put(name, live); });
  m.def("registry_remove", [](const std::string& name) { Registry::instance().remove(name); });
  m.def("diff", [](const Model& from, const Model& to) { return unlocked([&] { return diff(from, to); }); });
  m.def("diff_dot", [](const Model& from, const Model& to) { return unlocked([&] { return diff_dot(from, to); }); });
}

}  // namespace frazil::python
