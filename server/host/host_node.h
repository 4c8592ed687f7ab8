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

#include "server/access/governed.h"
#include "server/config/sandbox_level.h"
#include "server/config/yaml.h"
#include "server/core/notice.h"
#include "server/core/workers.h"
#include "server/net/external_gate.h"
#include "server/pipeline/holdings.h"
#include "server/pipeline/node.h"
#include "server/pipeline/pipeline_source.h"

// Steps of pipelines other than models: features, calls over HTTP, functions in C++ and Python.
namespace frazil::server {

// ---- functions in C++, for programs that link frazil::server ----

/// The call of a function for a request.
struct HostCall {
  const std::vector<api::Array>& inputs;  ///< in the order of the signature
  std::optional<Clock::time_point> deadline;
  const Caller& caller;  ///< disconnected(): the results are discarded
};
/// Returns the outputs in the order of the signature. Runs on workers, concurrently for several requests. A long
/// function should check the deadline, as nothing else ends it. If it throws, the request fails with the status of a
/// Refusal, or otherwise with 500.
using HostFunction = std::function<std::vector<api::Array>(const HostCall&)>;

/// Names and types: {{"x", "f32[N,2]"}}. Equal symbols mean equal extents.
struct HostSignature {
  using Ports = std::vector<std::pair<std::string, std::string>>;
  Ports inputs, outputs;
};

/// Registers a function for pipelines that are read later, as `code: {function: NAME, inputs: {x: VALUE}}`. Throws
/// api::Error (bad_input) for a name in use, and for a type other than a tensor. Thread-safe.
void register_host_function(const std::string& name, const HostSignature& signature, HostFunction function);

// ---- for readers of pipelines ----

/// Returns the tensor type for the text form of graphs, such as "f32[N,3]"; nullopt for another text.
std::optional<api::Port> tensor_port(const std::string& name, const std::string& type);

/// A value that formulas and nodes can use.
struct TypedSlot {
  Slot slot;
  api::Port type;
};

/// The surrounding pipeline, as seen by the reader of a step.
struct HostScope {
  std::function<TypedSlot(const YamlNode& name)> find;  ///< throws for an unknown name
  std::function<Slot(api::Dtype)> new_slot;
  std::string folder;  ///< base of relative file names
  Workers& workers;
  Holdings& holdings;
  std::string pipeline;    ///< its name
  NoticeSink notify;       ///< receives reasons of failures that are hidden from callers, one line each
  PipelineSource& source;  ///< receives the files and functions that steps use
  bool kept = false;       ///< `source` has them: nothing outside of the process is used, as steps are only replayed
  SandboxLevel least_sandbox = SandboxLevel::none;  ///< least level of steps that run in processes
  bool hides_details = false;  ///< details of failures, and what Python functions print, are not shown
  std::shared_ptr<govern::Governor> governor = {};  ///< asked for connections and programs; null: none
};

using Results = std::vector<std::pair<std::string, TypedSlot>>;

struct HostStep {
  NodePtr node;
  Results results;
  std::string content;  ///< contents of the files that the step has read
};

// ---- for the steps ----

struct Argument {
  std::string name;
  TypedSlot value;
};
/// Reads {x: VALUE}.
std::vector<Argument> arguments_of(const YamlNode& node, const HostScope& scope);
/// Reads {y: 'f32[N]'} or {y: {type: 'f32[N]'}}.
Results outputs_of(const YamlNode& node, const HostScope& scope);
/// Reads a time in milliseconds, or in units of `unit_ms`.
Clock::duration time_of(const YamlNode& node, double least_ms, double unit_ms = 1);

/// The values of the symbols in a step's types.
class Extents {
 public:
  void bind(const api::Port& port, const api::Array& value);
  /// Throws Refusal (internal) for a value that does not match the type.
  void check(const api::Port& port, const api::Array& value);
  bool is_bound(const std::string& dim) const;
  /// Requires that all extents of the type are known.
  api::Sizes sizes_of(const api::Port& port) const;

 private:
  bool bind(const std::string& dim, std::int64_t extent);
  std::map<std::string, std::int64_t> known_;
};

/// Throws Refusal (internal) if the outputs of a step do not have their types. `inputs`: values of the arguments.
void check_results(const Results& results, const std::vector<Argument>& arguments,
                   const std::vector<api::Array>& inputs, const std::vector<api::Array>& values);

/// A failure outside of the server. Its text may contain details that callers must not see and is only logged.
class ExternalFailure : public std::runtime_error {
 public:
  /// `caller`: the message for callers.
  ExternalFailure(Http status, std::string caller, const std::string& log)
      : std::runtime_error(log), status_(status), caller_(std::move(caller)) {}
  Refusal for_caller() const { return {status_, caller_}; }

 private:
  Http status_;
  std::string caller_;
};

class HostNode : public StepNode {
 public:
  /// `kind`: the name in path records; must outlive the node. The node's calls have the values of `arguments`, and it
  /// returns those of `results`.
  HostNode(std::string name, const char* kind, const HostScope& scope, const std::vector<Argument>& arguments,
           const Results& results);
  std::vector<Slot> reads() const override { return reads_; }
  std::vector<Slot> writes() const override { return writes_; }
  NodeView view() const override {
    return {.kind = kind_, .endpoint = endpoint(), .inputs = named_reads_, .outputs = named_writes_};
  }
  /// Returns the mean duration so far.
  Clock::duration expected() const override {
    const std::uint64_t count = uses().ended.count();
    return Nanoseconds(count == 0 ? 0 : uses().ended.nanoseconds() / count);
  }

 protected:
  /// Records the answer of ask(). A replay has the recorded answer, and contacts nothing.
  void start(StepCall step) const final;
  /// Calls what the node stands for. As Node::start().
  virtual void ask(StepCall step) const = 0;
  /// Returns what the node calls, as NodeView::endpoint.
  virtual std::string endpoint() const = 0;
  static void expect_time(const Flow& flow) {
    if (flow.left() <= Clock::duration::zero()) throw Refusal(Http::timeout, "the time-out has passed");
  }
  /// Returns the end of a step with its own time-out, limited by the deadline.
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
  Refusal named(const Refusal& refusal) const { return refusal.after("node '" + name() + "': "); }
  /// `details` may contain values of requests.
  void log(const std::string& details) const {
    const std::string line =
        hides_details_ ? "it failed; the details are hidden, as they may contain personal data" : details;
    warn(notify_, model_subject(pipeline_), "node '" + name() + "': " + line);
  }
  /// Call in a catch block. Returns the refusal for callers and logs details that they must not see.
  Refusal refusal_for_caller() const {
    try {
      throw;
    } catch (const ExternalFailure& outside) {
      log(outside.what());
      return named(outside.for_caller());
    } catch (...) {
      return named(refusal_of_exception());
    }
  }

 private:
  const char* kind_;
  const std::string pipeline_;
  const NoticeSink notify_;
  const bool hides_details_;
  std::vector<Slot> reads_, writes_;
  NodeView::Named named_reads_, named_writes_;
};

/// Keeps workers alive while work that left them is pending: workers wait for their timers.
class WorkersGuard : public std::enable_shared_from_this<WorkersGuard> {
 public:
  explicit WorkersGuard(Workers& workers) : workers_(workers) {}
  /// Call on a worker.
  void leave() {
    const std::scoped_lock lock(mutex_);
    if (++pending_ == 1 && !std::exchange(waits_, true)) wait();
  }
  /// Call on any thread, once per leave().
  void post_result(std::function<void()> function) {
    workers_.post(std::move(function));
    const std::scoped_lock lock(mutex_);
    --pending_;
  }

 private:
  void wait() {
    workers_.post_at(Clock::now() + std::chrono::milliseconds(10), [self = shared_from_this()] {
      const std::scoped_lock lock(self->mutex_);
      self->pending_ > 0 ? self->wait() : void(self->waits_ = false);
    });
  }
  Workers& workers_;
  std::mutex mutex_;
  std::size_t pending_ = 0;
  bool waits_ = false;
};

// ---- step readers ----

/// Throw api::Error (bad_input) that names the place in the file. docs/reference/pipelines.md describes the forms.
HostStep read_features_step(const YamlNode& node, const std::string& name, const HostScope& scope);
HostStep read_http_step(const YamlNode& node, const std::string& name, const HostScope& scope);
HostStep read_code_step(const YamlNode& node, const std::string& name, const HostScope& scope);
/// Reads the Python forms of `code`.
HostStep read_python_step(const YamlNode& node, const std::string& name, const HostScope& scope);

}  // namespace frazil::server
