#include "server/host/host_node.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>

#include <frazil/error.h>

#include "server/core/digest.h"
#include "server/core/port.h"
#include "server/request/tensor_bytes.h"

namespace frazil::server {
namespace {

using api::Array;
using api::Port;

// ---- shared by all steps ----

}  // namespace

void Extents::bind(const Port& port, const Array& value) {
  if (!port.ranked || !value.is_tensor() || value.sizes().size() != port.dims.size()) return;
  for (std::size_t i = 0; i < port.dims.size(); ++i) {
    if (is_symbol(port.dims[i])) known_.emplace(port.dims[i], value.sizes()[i]);
  }
}

void Extents::check(const Port& port, const Array& value) {
  bool fits = value.is_tensor() && value.dtype() == port.dtype;
  fits = fits && (!port.ranked || value.sizes().size() == port.dims.size());
  for (std::size_t i = 0; fits && port.ranked && i < port.dims.size(); ++i) fits = bind(port.dims[i], value.sizes()[i]);
  if (fits) return;
  std::string where;
  for (const std::string& dim : port.dims) {
    if (const auto at = known_.find(dim); at != known_.end()) where += ", " + dim + " = " + std::to_string(at->second);
  }
  throw Refusal(Http::internal, "output '" + port.name + "': expected " + port.type + where + "; got " + value.str());
}

bool Extents::is_bound(const std::string& dim) const { return fixed_extent(dim) || known_.contains(dim); }

api::Sizes Extents::sizes_of(const Port& port) const {
  api::Sizes sizes;
  for (const std::string& dim : port.dims) {
    const auto fixed = fixed_extent(dim);
    sizes.push_back(fixed ? *fixed : known_.at(dim));
  }
  return sizes;
}

bool Extents::bind(const std::string& dim, std::int64_t extent) {
  if (const auto fixed = fixed_extent(dim)) return *fixed == extent;
  return !is_symbol(dim) || known_.emplace(dim, extent).first->second == extent;
}

Results outputs_of(const YamlNode& node, const HostScope& scope) {
  Results results;
  for (const auto& [name, value] : node.entries()) {
    if (value.is_map()) value.fields({{"type", kReadElsewhere}});
    const YamlNode type = value.is_map() ? value.at("type") : value;
    const auto port = tensor_port(name, type.name());
    if (!port) type.expected("the type of a tensor, such as f32[N,3]");
    results.emplace_back(name, TypedSlot{.slot = scope.new_slot(port->dtype), .type = *port});
  }
  if (results.empty()) node.expected("at least one output");
  return results;
}

HostNode::HostNode(std::string name, const char* kind, const HostScope& scope, const std::vector<Argument>& arguments,
                   const Results& results)
    : StepNode(std::move(name)),
      kind_(kind),
      pipeline_(scope.pipeline),
      notify_(scope.notify),
      hides_details_(scope.hides_details) {
  for (const Argument& argument : arguments) {
    reads_.push_back(argument.value.slot);
    named_reads_.emplace_back(argument.name, argument.value.slot);
  }
  for (const auto& [result, known] : results) {
    writes_.push_back(known.slot);
    named_writes_.emplace_back(result, known.slot);
  }
}

namespace {

/// Returns a text that differs if the inputs of a step differ.
std::string checksum_of_inputs(const std::vector<Array>& inputs) {
  std::string bytes;
  for (const Array& input : inputs) {
    if (!input.is_tensor()) continue;
    bytes += std::string(api::name_of(input.dtype()));
    for (const std::int64_t extent : input.sizes()) bytes += ' ' + std::to_string(extent);
    append_bytes(bytes, input);
  }
  return sha256(bytes);
}

/// Answers a step of a replay from its record.
void answer_recorded(const StepCall& step, const std::string& node, const char* kind) {
  Recording& recording = *step.flow->recording;
  auto recorded = recording.next(node, kind);
  if (!recorded) {
    recording.differ(node, "asks for an answer that the record does not have");
    throw Refusal(Http::unavailable, "node '" + node + "': the record has no answer of it, and a replay asks nobody");
  }
  if (recorded->taken != checksum_of_inputs(step.inputs)) {
    recording.differ(node, "its inputs differ from the record");
    if (!recording.is_exact())
      recording.loosen("node '" + node + "' has the answer to its recorded inputs, not to these");
  }
  if (recorded->failure)
    return step.done(std::unexpected(Refusal(recorded->failure->first, recorded->failure->second)));
  std::vector<Array> values;
  for (auto& [name, value] : recorded->values) values.push_back(std::move(value));
  step.done(std::move(values));
}

}  // namespace

void HostNode::start(StepCall step) const {
  const RecordingPtr recording = step.flow->recording;
  if (recording == nullptr) return ask(std::move(step));
  const std::string node = step.flow->path_of(name());
  if (recording->plays()) return answer_recorded(step, node, kind_);
  step.done = [recording, node, kind = kind_, inputs = checksum_of_inputs(step.inputs),
               done = std::move(step.done)](StepResult result) {
    Happening happening{.node = node, .kind = kind, .taken = inputs};
    if (!result) happening.failure = {result.error().status(), result.error().what()};
    if (result) {
      for (const Array& value : *result) happening.values.emplace_back("", value);
    }
    recording->add(std::move(happening));
    done(std::move(result));
  };
  const auto done = step.done;
  try {
    ask(std::move(step));
  } catch (...) {
    done(std::unexpected(refusal_of_exception()));
  }
}

void check_results(const Results& results, const std::vector<Argument>& arguments, const std::vector<Array>& inputs,
                   const std::vector<Array>& values) {
  if (values.size() != results.size()) {
    throw Refusal(Http::internal,
                  "expected " + std::to_string(results.size()) + " outputs, got " + std::to_string(values.size()));
  }
  Extents extents;
  for (std::size_t i = 0; i < arguments.size(); ++i) extents.bind(arguments[i].value.type, inputs[i]);
  for (std::size_t i = 0; i < values.size(); ++i) extents.check(results[i].second.type, values[i]);
}

std::optional<Port> tensor_port(const std::string& name, const std::string& type) {
  const bool plain = std::ranges::all_of(type, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("[],_. ").find(c) != std::string_view::npos;
  });
  if (!plain) return std::nullopt;
  try {
    Port port = api::Model::from_text("graph g(%x: " + type + ") { %y = Identity(%x) return y = %y }").inputs().front();
    port.name = name;
    return port.kind == Array::Kind::tensor ? std::optional(port) : std::nullopt;
  } catch (const api::Error&) {
    return std::nullopt;
  }
}

std::vector<Argument> arguments_of(const YamlNode& node, const HostScope& scope) {
  std::vector<Argument> arguments;
  for (const auto& [name, value] : node.entries()) arguments.push_back({.name = name, .value = scope.find(value)});
  return arguments;
}

Clock::duration time_of(const YamlNode& node, double least_ms, double unit_ms) {
  constexpr double kMaxTimeoutMs = 1e9;
  const std::chrono::duration<double, std::milli> time(node.number(least_ms / unit_ms, kMaxTimeoutMs / unit_ms) *
                                                       unit_ms);
  return std::chrono::duration_cast<Clock::duration>(time);
}

// ---- functions in C++ ----

namespace {

struct Registered {
  std::string name;
  std::vector<Port> inputs, outputs;
  HostFunction function;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Registered>> functions;
};

Registry& registry() {
  static Registry registry;
  return registry;
}

std::shared_ptr<const Registered> find_function(const std::string& name) {
  const std::scoped_lock lock(registry().mutex);
  const auto at = registry().functions.find(name);
  return at == registry().functions.end() ? nullptr : at->second;
}

[[noreturn]] void refuse_type(const std::string& function, const std::string& name, const std::string& type) {
  throw api::Error(api::Code::bad_input, "host function '" + function + "': '" + name +
                                             "': expected the type of a tensor, such as f32[N,3], got '" + type + "'");
}

std::vector<Port> ports_of(const std::string& function, const HostSignature::Ports& ports) {
  std::vector<Port> result;
  for (const auto& [name, type] : ports) {
    const auto port = tensor_port(name, type);
    if (!port) refuse_type(function, name, type);
    result.push_back(*port);
  }
  return result;
}

HostSignature::Ports port_texts(const std::vector<Port>& ports) {
  HostSignature::Ports texts;
  for (const Port& port : ports) texts.emplace_back(port.name, port.type);
  return texts;
}

/// Returns a function that is only replayed, with the signature that it had; null for an unknown name.
std::shared_ptr<const Registered> kept_function(const std::string& name, const PipelineSource& source) {
  const auto at = source.functions.find(name);
  if (at == source.functions.end()) return nullptr;
  return std::make_shared<const Registered>(Registered{
      .name = name, .inputs = ports_of(name, at->second.inputs), .outputs = ports_of(name, at->second.outputs)});
}

class FunctionNode : public HostNode {
 public:
  FunctionNode(std::string name, const HostScope& scope, std::shared_ptr<const Registered> function,
               std::vector<Argument> inputs, Results outputs)
      : HostNode(std::move(name), "code", scope, inputs, outputs),
        function_(std::move(function)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)) {}

 protected:
  std::string endpoint() const override { return function_->name; }
  void ask(StepCall step) const override {
    const Flow& flow = *step.flow;
    expect_time(flow);
    const Clock::time_point began = Clock::now();
    std::vector<Array> values;
    try {
      values = function_->function({.inputs = step.inputs, .deadline = flow.deadline, .caller = *flow.caller});
      check_results(outputs_, inputs_, step.inputs, values);
    } catch (...) {
      throw named(refusal_of_exception());
    }
    note(flow, {}, began);
    step.done(std::move(values));
  }

 private:
  std::shared_ptr<const Registered> function_;
  std::vector<Argument> inputs_;
  Results outputs_;
};

/// Returns the given arguments in the order of the function's inputs.
std::vector<Argument> arguments_for(const Registered& function, const std::string& name, const YamlNode& node,
                                    std::vector<Argument> given) {
  std::vector<Argument> ordered;
  for (const Port& port : function.inputs) {
    const auto at = std::ranges::find(given, port.name, &Argument::name);
    if (at == given.end()) node.fail("input '" + port.name + "' of function '" + name + "' is missing");
    const Port& type = at->value.type;
    const bool ranks = !port.ranked || !type.ranked || port.dims.size() == type.dims.size();
    if (type.kind != Array::Kind::tensor || type.dtype != port.dtype || !ranks) {
      node.at("inputs").at(port.name).fail("function '" + name + "' takes " + port.type + ", this is " + type.type);
    }
    ordered.push_back(*at);
    ordered.back().value.type = port;
  }
  for (const Argument& argument : given) {
    if (std::ranges::find(function.inputs, argument.name, &Port::name) != function.inputs.end()) continue;
    node.at("inputs").at(argument.name).fail("function '" + name + "' has no input '" + argument.name + "'");
  }
  return ordered;
}

/// Checks the types of outputs, which a file may repeat for its readers.
void check_outputs(const Registered& function, const YamlNode& node) {
  for (const auto& [name, type] : node.entries()) {
    const auto port = std::ranges::find(function.outputs, name, &Port::name);
    if (port == function.outputs.end()) type.fail("the function has no output '" + name + "'");
    if (type.name() != port->type) type.fail("the function's output is " + port->type);
  }
}

HostStep read_function(const YamlNode& node, const std::string& step_name, const HostScope& scope) {
  const std::string name = node.at("function").name();
  const auto function = scope.kept ? kept_function(name, scope.source) : find_function(name);
  if (function == nullptr) node.at("function").fail("there is no function '" + name + "' in this program");
  std::vector<Argument> given;
  node.fields({{"function", kReadElsewhere},
               {"inputs", [&](const YamlNode& n) { given = arguments_of(n, scope); }},
               {"outputs", [&](const YamlNode& n) { check_outputs(*function, n); }}});
  scope.source.functions[name] = {port_texts(function->inputs), port_texts(function->outputs)};
  HostStep step;
  for (const Port& port : function->outputs) {
    step.results.emplace_back(port.name, TypedSlot{.slot = scope.new_slot(port.dtype), .type = port});
  }
  step.node = std::make_unique<FunctionNode>(step_name, scope, function,
                                             arguments_for(*function, name, node, std::move(given)), step.results);
  return step;
}

}  // namespace

void register_host_function(const std::string& name, const HostSignature& signature, HostFunction function) {
  if (auto* const policy = dynamic_cast<govern::RegistrationPolicy*>(api::process_policy().get())) {
    if (const auto why = policy->check_function(name)) {
      throw api::Error(api::Code::bad_input, "the policy refuses host function '" + name + "': " + *why);
    }
  }
  auto registered = std::make_shared<const Registered>(Registered{.name = name,
                                                                  .inputs = ports_of(name, signature.inputs),
                                                                  .outputs = ports_of(name, signature.outputs),
                                                                  .function = std::move(function)});
  const std::scoped_lock lock(registry().mutex);
  if (registry().functions.emplace(name, std::move(registered)).second) return;
  throw api::Error(api::Code::bad_input, "there is a host function '" + name + "' already");
}

HostStep read_code_step(const YamlNode& node, const std::string& name, const HostScope& scope) {
  return node.find("python") ? read_python_step(node, name, scope) : read_function(node, name, scope);
}

}  // namespace frazil::server
