#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "python/src/arrays.h"

namespace frazil::python {

/// What the calls of a model need, made once.
struct Signature {
  explicit Signature(const Model& model);
  /// Throw Code::bad_input for an unknown name.
  std::size_t input(py::handle name) const;
  std::size_t output(py::handle name) const;
  std::vector<Wanted> inputs;
  py::dict positions;               ///< of the inputs' names
  std::vector<py::object> outputs;  ///< names
  py::dict output_positions;
  std::string model;
};

/// The arguments of run(): run({"x": x}), or as in ONNX Runtime run(["y"], {"x": x}).
class RunCall {
 public:
  RunCall(py::object first, py::object feeds) : first_(std::move(first)), feeds_(std::move(feeds)) {}
  py::handle inputs() const { return feeds_.is_none() ? first_ : feeds_; }
  /// Throws Code::bad_input, before the run, for names of outputs that the model does not have.
  void check(const Signature& signature) const;
  /// A dict of all results, or a list of those that are named. `given`: objects that stand for results, by output.
  py::object results(Results made, const Signature& signature, const std::vector<py::object>& given = {}) const;

 private:
  std::vector<std::size_t> listed(const Signature& signature) const;
  py::object first_, feeds_;
};

/// Arrays of the caller that a session writes results into, until the object ends.
class BoundOutputs {
 public:
  /// `out`: a dict of names to NumPy arrays and DLPack tensors, or None. Throws Code::bad_input for what cannot be
  /// written in place.
  BoundOutputs(Session& session, const Signature& signature, const py::object& out);
  ~BoundOutputs();
  BoundOutputs(const BoundOutputs&) = delete;
  BoundOutputs& operator=(const BoundOutputs&) = delete;
  /// Throws Code::bad_input where a result has other extents than its array.
  void check(const Results& results) const;
  /// By output: what the caller gave, or null.
  const std::vector<py::object>& objects() const { return objects_; }

 private:
  void bind(std::size_t output, const std::string& name, const py::object& object);
  void unbind() noexcept;
  Session& session_;
  const Signature& signature_;
  std::vector<py::object> objects_, arrays_;  // by output; null: not bound
  std::vector<std::string> names_;
};

/// Ends a run from another thread, whether or not it has begun. The interpreter's lock guards it.
class RunToken {
 public:
  void cancel() {
    stop_ = true;
    if (session_ != nullptr) session_->cancel();
  }
  /// Marks the session whose run it ends; null: none.
  void follow(Session* session) {
    if (session_ != nullptr) session_->set_stop(nullptr);
    session_ = session;
    if (session_ != nullptr) session_->set_stop(&stop_);
  }

 private:
  std::atomic<bool> stop_{false};
  Session* session_ = nullptr;
};

/// What is done with input `i`.
using SetInput = std::function<void(std::size_t i, Array value)>;
/// The inputs of run({"x": x}) and of call(x, y=y). Throw Code::bad_input.
void bind_named(const Signature& signature, py::handle inputs, const SetInput& set);
void bind_call(const Signature& signature, const py::args& args, const py::kwargs& kwargs, const SetInput& set);
/// Returns the only result, or a tuple of several, as call() does.
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

  /// `out` as BoundOutputs takes it; `token` may be null.
  py::object run(const RunCall& call, const py::object& out, RunToken* token = nullptr);
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
