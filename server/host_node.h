#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <frazil/array.h>
#include <frazil/model.h>

#include "server/holdings.h"
#include "server/pipeline_node.h"
#include "server/tell.h"
#include "server/workers.h"
#include "server/yaml.h"

// Steps of pipelines that are no models: features, calls over HTTP, functions in C++ and Python.
namespace frazil::server {

// ---- functions in C++, for programs that link frazil::server ----

/// A call of a function by a request.
struct HostCall {
  const std::vector<api::Array>& inputs;  ///< in the order of the signature
  std::optional<Clock::time_point> deadline;
  const Caller& caller;  ///< gone(): the results are for nobody
};
/// Gives the outputs in the order of the signature. Runs on a worker, on several at once for several requests: it
/// should look at the deadline when it takes long, as nothing else ends it. It may throw: the request then fails, with
/// the status of a Refusal, otherwise with 500.
using HostFunction = std::function<std::vector<api::Array>(const HostCall&)>;

/// Names and types: {{"x", "f32[N,2]"}}. Equal symbols mean equal extents.
struct HostSignature {
  using Ports = std::vector<std::pair<std::string, std::string>>;
  Ports inputs, outputs;
};

/// Lets pipelines that are read from now on use a function, as `code: {function: NAME, inputs: {x: VALUE}}`. Throws
/// api::Error (bad_input) for a name that is taken, and for a type that is not one of a tensor. Thread-safe.
void register_host_function(const std::string& name, const HostSignature& signature, HostFunction function);

// ---- for readers of pipelines ----

/// A tensor of a type in the text form of graphs, "f32[N,3]"; nothing for another text.
std::optional<api::Port> tensor_port(const std::string& name, const std::string& type);

/// A value that formulas and nodes can use.
struct TypedSlot {
  Slot slot;
  api::Port type;
};

/// What a step's reader needs of the pipeline around it.
struct HostScope {
  std::function<TypedSlot(const YamlNode& name)> find;  ///< refuses a name that is not known
  std::function<Slot()> new_slot;
  std::string folder;  ///< that names of files are relative to
  Workers& workers;
  Holdings& holdings;
  std::string pipeline;  ///< its name
  Tell tell;             ///< takes the reasons of failures that callers are not told, a line each
};

using Results = std::vector<std::pair<std::string, TypedSlot>>;

struct HostStep {
  NodePtr node;
  Results results;
  std::string content;  ///< of files that the step has read
};

// ---- for the steps ----

struct Argument {
  std::string name;
  TypedSlot value;
};
/// {x: VALUE}
std::vector<Argument> arguments_of(const YamlNode& node, const HostScope& scope);
/// {y: 'f32[N]'} or {y: {type: 'f32[N]'}}
Results outputs_of(const YamlNode& node, const HostScope& scope);
/// A time in milliseconds, or in units of `unit_ms`.
Clock::duration time_of(const YamlNode& node, double least_ms, double unit_ms = 1);

/// What the symbols of a step's types stand for.
class Extents {
 public:
  void bind(const api::Port& port, const api::Array& value);
  /// Throws Refusal (internal) for a value that is not of the type.
  void check(const api::Port& port, const api::Array& value);
  bool knows(const std::string& dim) const;
  /// Of a type of which all extents are known.
  api::Sizes sizes_of(const api::Port& port) const;

 private:
  bool agree(const std::string& dim, std::int64_t extent);
  std::map<std::string, std::int64_t> known_;
};

/// Checks the outputs of a step and puts them into their slots.
void set_results(const Results& results, const std::vector<Argument>& arguments, std::vector<api::Array> values,
                 const Flow& flow);

/// A failure of something beside the server. Its text may have what callers must not see: it is for the log.
class Outside : public std::runtime_error {
 public:
  /// `caller`: what callers are told instead.
  Outside(Http status, std::string caller, const std::string& log)
      : std::runtime_error(log), status_(status), caller_(std::move(caller)) {}
  Refusal for_caller() const { return {status_, caller_}; }

 private:
  Http status_;
  std::string caller_;
};

class HostNode : public Node {
 public:
  /// `kind` as paths have it; lives on.
  HostNode(std::string name, const char* kind, const HostScope& scope)
      : Node(std::move(name)), kind_(kind), pipeline_(scope.pipeline), tell_(scope.tell) {}
  NodeView view() const override { return {.kind = kind_}; }
  /// The mean so far.
  Clock::duration expected() const override {
    const std::uint64_t count = uses().ended.count();
    return Nanoseconds(count == 0 ? 0 : uses().ended.nanoseconds() / count);
  }

 protected:
  static void expect_time(const Flow& flow) {
    if (flow.left() <= Clock::duration::zero()) throw Refusal(Http::timeout, "the time-out has passed");
  }
  /// Until when a step may take that has a limit of its own.
  static Clock::time_point limit_of(const Flow& flow, Clock::duration time_out) {
    expect_time(flow);
    const Clock::time_point own = Clock::now() + time_out;
    return flow.deadline ? std::min(*flow.deadline, own) : own;
  }
  void note(const Flow& flow, PathRecord::Step step, Clock::time_point began) const {
    step.node = name();
    step.kind = kind_;
    step.time = Clock::now() - began;
    flow.note(std::move(step));
  }
  Refusal named(const Refusal& refusal) const { return {refusal.status(), "node '" + name() + "': " + refusal.what()}; }
  void log(const std::string& line) const { warn(tell_, model_subject(pipeline_), "node '" + name() + "': " + line); }
  /// In a catch block: what callers are told of the exception. What they are not told is logged.
  Refusal told() const {
    try {
      throw;
    } catch (const Outside& outside) {
      log(outside.what());
      return named(outside.for_caller());
    } catch (...) {
      return named(refusal_of_exception());
    }
  }

 private:
  const char* kind_;
  const std::string pipeline_;
  const Tell tell_;
};

/// Lets workers end no earlier than what has left them and comes back to them: they wait for their timers.
class Hold : public std::enable_shared_from_this<Hold> {
 public:
  explicit Hold(Workers& workers) : workers_(workers) {}
  /// On a worker.
  void leave() {
    const std::scoped_lock lock(mutex_);
    if (++away_ == 1 && !std::exchange(waits_, true)) wait();
  }
  /// On any thread, once for each leave().
  void come_back(std::function<void()> function) {
    workers_.post(std::move(function));
    const std::scoped_lock lock(mutex_);
    --away_;
  }

 private:
  void wait() {
    workers_.post_at(Clock::now() + std::chrono::milliseconds(10), [self = shared_from_this()] {
      const std::scoped_lock lock(self->mutex_);
      self->away_ > 0 ? self->wait() : void(self->waits_ = false);
    });
  }
  Workers& workers_;
  std::mutex mutex_;
  std::size_t away_ = 0;
  bool waits_ = false;
};

// ---- their readers ----

/// Throw api::Error (bad_input) that names the place in the file; docs/pipelines.md has the forms.
HostStep read_features_step(const YamlNode& node, const std::string& name, const HostScope& scope);
HostStep read_http_step(const YamlNode& node, const std::string& name, const HostScope& scope);
HostStep read_code_step(const YamlNode& node, const std::string& name, const HostScope& scope);
/// Of `code` those in Python.
HostStep read_python_step(const YamlNode& node, const std::string& name, const HostScope& scope);

}  // namespace frazil::server
