#pragma once

#include <memory>

#include "python/src/python.h"

namespace frazil::python {

/// Forwards events to a frazil.Observer, but only to methods that its class overrides. The first exception of a method
/// stops the run and is raised after it.
class PythonObserver : public Observer {
 public:
  PythonObserver(py::object to, Session& session);
  ~PythonObserver() override;

  /// Raises the exception of a method, once. Requires the interpreter's lock.
  void raise_pending();

  void run_begin() override;
  void run_end() override;
  void node_begin(const NodeEvent& event) override;
  void node_end(const NodeEvent& event) override;
  void branch(const NodeEvent& event, bool taken) override;
  void iteration(const NodeEvent& event) override;
  void shapes_changed() override;
  std::vector<std::string> wanted() const override;
  void value(const ValueEvent& event) override;
  bool without(std::string_view name, std::string_view why) override;

 private:
  enum Function : std::uint8_t {
    kRunBegin,
    kRunEnd,
    kNodeBegin,
    kNodeEnd,
    kBranch,
    kIteration,
    kShapes,
    kValue,
    kWithout,
    kCount
  };
  template <class... A>
  py::object call(Function function, A&&... arguments);

  py::object to_;
  py::object functions_[kCount];  ///< null if the class does not override it
  std::vector<std::string> wanted_;
  Session& session_;
  std::unique_ptr<py::error_already_set> raised_;
};

/// Returns a frazil.observe.Profile of a recording. `traced`: with its trace.
py::object profile_object(const std::string& model, const Profiler& profiler, bool traced);

}  // namespace frazil::python
