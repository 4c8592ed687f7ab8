#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "python/src/arrays.h"

namespace frazil::python {

/// What the calls of a model need, made once.
struct Signature {
  explicit Signature(const Model& model);
  std::size_t position(py::handle name) const;  ///< throws Code::bad_input for an unknown name
  std::vector<Wanted> inputs;
  py::dict positions;               ///< of the inputs' names
  std::vector<py::object> outputs;  ///< names
  std::string model;
};

/// What is done with input `i`.
using SetInput = std::function<void(std::size_t i, Array value)>;
/// The inputs of run({"x": x}) and of call(x, y=y). Throw Code::bad_input.
void bind_named(const Signature& signature, py::handle inputs, const SetInput& set);
void bind_call(const Signature& signature, const py::args& args, const py::kwargs& kwargs, const SetInput& set);
/// What run() and call() return: all results by name; the only one, or a tuple.
py::dict by_name(Results results, const Signature& signature);
py::object alone_or_tuple(Results results);

/// Marks a session, and forgets the inputs however a run ends.
class Busy {
 public:
  Busy(bool& busy, std::vector<Array>& inputs);
  ~Busy();
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  bool& busy_;
  std::vector<Array>& inputs_;
};

/// A session and its Python side. One run at a time.
class Worker {
 public:
  Worker(const Model& model, const Options& options, std::shared_ptr<const Signature> signature);

  /// run({"x": x}): a dict of the results.
  py::dict run(py::handle inputs);
  /// call(x, y=y): the result, or a tuple of several.
  py::object call(const py::args& args, const py::kwargs& kwargs);
  Results results(py::handle inputs);
  /// Seconds that a run takes in C++ alone; bench/python_overhead.py compares with it.
  double time_runs(py::handle inputs, int runs);

  void set_observer(Observer* observer) { session_.set_observer(observer); }
  Session& session() { return session_; }
  bool busy() const { return busy_; }
  const std::string& model() const { return signature_->model; }

 private:
  SetInput set() {
    return [this](std::size_t i, Array value) { inputs_[i] = std::move(value); };
  }
  Results execute();

  Session session_;
  std::shared_ptr<const Signature> signature_;
  std::vector<Array> inputs_;
  bool busy_ = false;
};

/// Set from keywords; an unknown one is a TypeError.
void set_options(Options& options, const py::kwargs& keywords);

}  // namespace frazil::python
