#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "python/src/arrays.h"

namespace frazil::python {

/// The names and types of a model's inputs and outputs, prepared for calls.
struct Signature {
  explicit Signature(const Model& model);
  /// The functions throw Code::bad_input for an unknown name.
  std::size_t input(py::handle name) const;
  std::size_t output(py::handle name) const;
  std::vector<AwaitedValues> inputs;
  py::dict positions;               ///< by input name
  std::vector<py::object> outputs;  ///< names
  py::dict output_positions;
  std::string model;
};

/// The arguments of run(): run({"x": x}), or as in ONNX Runtime run(["y"], {"x": x}).
class RunCall {
 public:
  RunCall(py::object first, py::object feeds) : first_(std::move(first)), feeds_(std::move(feeds)) {}
  py::handle inputs() const { return feeds_.is_none() ? first_ : feeds_; }
  /// Throws Code::bad_input for unknown names of outputs. Call it before the run.
  void check(const Signature& signature) const;
  /// Returns a dict of all results, or a list of the named ones. `given`: objects to return instead of results, by
  /// output.
  py::object results(Results made, const Signature& signature, const std::vector<py::object>& given = {}) const;

 private:
  std::vector<std::size_t> listed(const Signature& signature) const;
  py::object first_, feeds_;
};

/// Arrays of the caller that a session writes results into, during this object's lifetime.
class BoundOutputs {
 public:
  /// `out`: a dict of names to NumPy arrays and DLPack tensors, or None. Throws Code::bad_input for memory that cannot
  /// be written in place.
  BoundOutputs(Session& session, const Signature& signature, const py::object& out);
  ~BoundOutputs();
  BoundOutputs(const BoundOutputs&) = delete;
  BoundOutputs& operator=(const BoundOutputs&) = delete;
  /// Throws Code::bad_input if a result has other extents than its array.
  void check(const Results& results) const;
  /// Returns the caller's object or null, by output.
  const std::vector<py::object>& objects() const { return objects_; }

 private:
  void bind(std::size_t output, const std::string& name, const py::object& object);
  void unbind() noexcept;
  Session& session_;
  const Signature& signature_;
  std::vector<py::object> objects_, arrays_;  // by output; null: not bound
  std::vector<std::string> names_;
};

/// Cancels a run from another thread, even before it has begun. The interpreter's lock guards it.
class RunToken {
 public:
  void cancel() {
    stop_ = true;
    if (session_ != nullptr) session_->cancel();
  }
  bool cancelled() const { return stop_; }
  /// Sets the session whose run is cancelled; null: none.
  void follow(Session* session) {
    if (session_ != nullptr) session_->set_stop(nullptr);
    session_ = session;
    if (session_ != nullptr) session_->set_stop(&stop_);
  }

 private:
  std::atomic<bool> stop_{false};
  Session* session_ = nullptr;
};

/// Receives the value of input `i`.
using SetInput = std::function<void(std::size_t i, Array value)>;
/// Bind the inputs of run({"x": x}) and of call(x, y=y). Throw Code::bad_input.
void bind_named(const Signature& signature, py::handle inputs, const SetInput& set);
void bind_call(const Signature& signature, const py::args& args, const py::kwargs& kwargs, const SetInput& set);
/// Returns the only result, or a tuple of several, as call() does.
py::object alone_or_tuple(Results results);

/// Marks a session as busy. Clears the inputs at the end of a run, also after an exception.
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

/// Opens a session without the interpreter's lock.
Session open_unlocked(const Model& model, const Options& options);

/// Converts the Python inputs and outputs of a session, which must outlive it. One run at a time.
class Worker {
 public:
  Worker(Session& session, std::shared_ptr<const Signature> signature);

  /// `out` as in BoundOutputs; `token` may be null.
  py::object run(const RunCall& call, const py::object& out, RunToken* token = nullptr);
  /// call(x, y=y): returns the result, or a tuple of several.
  py::object call(const py::args& args, const py::kwargs& kwargs);
  Results results(py::handle inputs);
  /// Returns the seconds of a run in C++ alone, for comparison in bench/python_overhead.py.
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

  Session& session_;
  std::shared_ptr<const Signature> signature_;
  std::vector<Array> inputs_;
  bool busy_ = false;
};

/// Sets options from keywords. An unknown one is a TypeError.
void set_options(Options& options, const py::kwargs& keywords);

}  // namespace frazil::python
