#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <frazil/array.h>
#include <frazil/model.h>

#include "server/pipeline_node.h"
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
};

struct HostStep {
  NodePtr node;
  std::vector<std::pair<std::string, TypedSlot>> results;
  std::string content;  ///< of files that the step has read
};

/// Throw api::Error (bad_input) that names the place in the file; docs/pipelines.md has the forms.
HostStep read_features_step(const YamlNode& node, const std::string& name, const HostScope& scope);
HostStep read_http_step(const YamlNode& node, const std::string& name, const HostScope& scope);
HostStep read_code_step(const YamlNode& node, const std::string& name, const HostScope& scope);

}  // namespace frazil::server
