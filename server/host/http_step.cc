// The step `http` of pipelines: a client of the Open Inference Protocol.
#include <cmath>
#include <limits>
#include <optional>

#include <simdjson.h>

#include "server/config/peer_yaml.h"
#include "server/config/yaml.h"
#include "server/core/datatype.h"
#include "server/core/json_text.h"
#include "server/core/url_parts.h"
#include "server/host/host_node.h"
#include "server/net/http_client.h"
#include "server/request/infer_message.h"
#include "server/request/json_tensor.h"

namespace frazil::server {
namespace {

// ---- inference ----

/// Returns the body that requests outputs of another server's model. Throws Refusal for a value without a JSON form.
std::string inference_body(const std::vector<NamedArray>& inputs, std::span<const std::string> outputs) {
  JsonText json;
  json.begin_object();
  json.key("outputs");
  json.array(outputs, [&](const std::string& name) {
    json.begin_object();
    json.member("name", name);
    json.end_object();
  });
  json.key("inputs");
  write_tensors(json, inputs);
  json.end_object();
  return json.take();
}

/// Returns the outputs in the body of the answer. Throws Refusal for a malformed answer.
std::vector<NamedArray> inference_results(const std::string& body) {
  try {
    const JsonObject answer(body);
    const auto outputs = maybe(answer.root(), "outputs");
    if (!outputs) refuse("expected a field \"outputs\"");
    JsonText as_inputs;  // inputs have the same form
    as_inputs.begin_object();
    as_inputs.key("inputs");
    as_inputs.json(simdjson::minify(*outputs));
    as_inputs.end_object();
    const std::string body_of_inputs = as_inputs.take();
    return read_infer({.method = "POST", .path = "/", .body = body_of_inputs}).inputs;
  } catch (const Refusal& refusal) {
    throw Refusal(Http::internal, std::string("the other server's answer: ") + refusal.what());
  }
}

// ---- the step ----

using api::Array;
using api::Dtype;

struct HttpParts {
  HttpUrl url;
  TlsFiles tls;
  Clock::duration time_out = std::chrono::seconds(1);
  std::vector<Argument> inputs;
  Results outputs;
  std::optional<double> otherwise;  ///< value of all outputs if the call fails; nullopt: the request fails
};

bool has_default(Dtype dtype) {
  using enum Dtype;
  return dtype == boolean || dtype == i32 || dtype == i64 || dtype == f32 || dtype == f64 || dtype == string;
}

Array filled(Dtype dtype, api::Sizes sizes, double value) {
  Array array(dtype, std::move(sizes));
  const auto fill = [&]<class T>(T one) { std::ranges::fill(array.mutable_values<T>(), one); };
  switch (dtype) {
    case Dtype::boolean: fill(value != 0); break;
    case Dtype::i32: fill(static_cast<std::int32_t>(value)); break;
    case Dtype::i64: fill(static_cast<std::int64_t>(value)); break;
    case Dtype::f32: fill(static_cast<float>(value)); break;
    case Dtype::f64: fill(value); break;
    default: break;
  }
  return array;
}

/// Returns the status of a request whose call to another server was answered with `other`.
Http status_for_response(unsigned other) {
  constexpr Http kSame[] = {Http::bad_request, Http::too_many, Http::unavailable, Http::timeout};
  const auto* const at = std::ranges::find(kSame, static_cast<Http>(other));
  return at == std::end(kSame) ? Http::internal : *at;
}

Http status_for_fault(HttpFault::Kind kind) {
  using enum HttpFault::Kind;
  return kind == late        ? Http::timeout
         : kind == cancelled ? Http::cancelled
         : kind == wrong     ? Http::internal
                             : Http::unavailable;
}

class HttpNode : public HostNode {
 public:
  HttpNode(std::string name, HttpParts parts, const HostScope& scope)
      : HostNode(std::move(name), "http", scope, parts.inputs, parts.outputs),
        parts_(std::move(parts)),
        gate_(gate_of(parts_.url, scope)),
        client_(parts_.url, {.tls = parts_.tls}),
        workers_guard_(std::make_shared<WorkersGuard>(scope.workers)) {
    for (const auto& output : parts_.outputs) wanted_.push_back(output.first);
  }

 protected:
  std::string endpoint() const override { return parts_.url.shown; }
  void ask(StepCall step) const override {
    const Flow& flow = *step.flow;
    const Clock::time_point until = limit_of(flow, parts_.time_out), began = Clock::now();
    std::vector<NamedArray> inputs;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) inputs.emplace_back(parts_.inputs[i].name, step.inputs[i]);
    ClientRequest request{.body = inference_body(inputs, wanted_)};
    if (gate_.asks()) {
      request.may_use = [this, identity = flow.identity](const PeerAddress& peer) {
        return gate_.rejection(peer, tenant_of(identity));
      };
    }
    if (!flow.trace.empty()) request.headers.emplace_back("traceparent", flow.trace);
    const auto waiting = std::make_shared<Waiting>(std::move(step), began);
    const auto exchange =
        client_.post(std::move(request), until, [this, hold = workers_guard_, waiting = waiting](auto result) mutable {
          hold->post_result(
              [this, waiting = std::move(waiting), result = std::move(result)] { end(*waiting, result); });
        });
    waiting->hook.emplace(*waiting->step.flow->caller, [exchange] { exchange->cancel(); });
    workers_guard_->leave();
    exchange->start();
  }

 private:
  struct Waiting {
    Waiting(StepCall step_, Clock::time_point began_) : step(std::move(step_)), began(began_) {}
    StepCall step;
    Clock::time_point began;
    std::optional<Caller::Hook> hook;  // last: it refers to the caller
  };

  void end(Waiting& waiting, const std::expected<HttpAnswer, HttpFault>& result) const {
    waiting.hook.reset();
    const Flow& flow = *waiting.step.flow;
    const BusyScope scope(flow.cost);
    StepResult outcome;
    PathRecord::Step step{.taken = "answered"};
    try {
      outcome = values_in(result, waiting.step.inputs);
    } catch (...) {
      outcome = std::unexpected(refusal_for_caller());
      const bool of_request = flow.left() <= Clock::duration::zero() || flow.caller->disconnected() ||
                              outcome.error().status() == Http::forbidden;
      step.why = outcome.error().what();
      step.taken = "failed";
      if (parts_.otherwise && !of_request) {
        outcome = defaults(waiting.step.inputs);
        step.taken = "defaults";
      }
    }
    note(flow, std::move(step), waiting.began);
    waiting.step.done(std::move(outcome));
  }

  /// Returns the values in the other server's answer.
  std::vector<Array> values_in(const std::expected<HttpAnswer, HttpFault>& result,
                               const std::vector<Array>& inputs) const {
    if (!result) refuse_for(result.error());
    if (result->status != 200) {
      constexpr std::size_t kShownBytes = 300;
      const std::string what = "the other server answers " + std::to_string(result->status);
      throw ExternalFailure(status_for_response(result->status), what,
                            what + ": " + shown(std::string_view(result->body).substr(0, kShownBytes)));
    }
    std::vector<Array> values;
    std::vector<NamedArray> given = results_in(result->body);
    for (const std::string& name : wanted_) {
      const auto at = std::ranges::find(given, name, &NamedArray::first);
      if (at == given.end()) throw Refusal(Http::internal, "the other server's answer has no output '" + name + "'");
      values.push_back(std::move(at->second));
    }
    check_results(parts_.outputs, parts_.inputs, inputs, values);
    return values;
  }

  /// Logs faults of the other server and of the connection to it with the URL, which callers must not see.
  [[noreturn]] static void refuse_for(const HttpFault& fault) {
    if (fault.kind() == HttpFault::Kind::forbidden)
      throw refused_by_policy("to connect the other server", fault.what());
    const Http status = status_for_fault(fault.kind());
    if (status == Http::timeout || status == Http::cancelled) throw Refusal(status, fault.what());
    throw ExternalFailure(status, fault.what(), std::string(fault.what()) + " (" + fault.detail() + ")");
  }

  /// Returns the results. Errors are logged only, as their text may quote the answer.
  static std::vector<NamedArray> results_in(const std::string& body) try {
    return inference_results(body);
  } catch (const Refusal& refusal) {
    throw ExternalFailure(refusal.status(), "the other server's answer does not have the protocol's form",
                          refusal.what());
  }

  std::vector<Array> defaults(const std::vector<Array>& inputs) const {
    Extents extents;
    for (std::size_t i = 0; i < inputs.size(); ++i) extents.bind(parts_.inputs[i].value.type, inputs[i]);
    std::vector<Array> values;
    for (const auto& [name, result] : parts_.outputs) {
      values.push_back(filled(result.type.dtype, extents.sizes_of(result.type), *parts_.otherwise));
    }
    return values;
  }

  static ExternalGate gate_of(const HttpUrl& url, const HostScope& scope) {
    const UrlParts parts = UrlParts::parse(url.text).value();
    const std::string port = !parts.port.empty() ? parts.port : parts.scheme == "https" ? "443" : "80";
    return {scope.governor,
            {.kind = "http", .host = parts.host, .port = std::stoi(port), .path = parts.path, .model = scope.pipeline}};
  }

  const HttpParts parts_;
  std::vector<std::string> wanted_;
  const ExternalGate gate_;
  mutable HttpClient client_;  // thread-safe
  std::shared_ptr<WorkersGuard> workers_guard_;
};

void check_defaults(const YamlNode& node, const HttpParts& parts) {
  Extents extents;
  for (const Argument& input : parts.inputs) {
    extents.bind(input.value.type, Array(Dtype::boolean, api::Sizes(input.value.type.dims.size())));
  }
  for (const auto& [name, result] : parts.outputs) {
    const Dtype dtype = result.type.dtype;
    const bool whole = dtype == Dtype::i32 || dtype == Dtype::i64;
    constexpr double kMax = std::numeric_limits<std::int32_t>::max();
    const bool fits =
        !whole || (std::abs(*parts.otherwise) <= kMax && std::trunc(*parts.otherwise) == *parts.otherwise);
    if (!has_default(dtype) || !fits)
      node.fail("output '" + name + "' is " + result.type.type + ": it cannot have this default");
    const auto unknown =
        std::ranges::find_if(result.type.dims, [&](const auto& dim) { return !extents.is_bound(dim); });
    if (!result.type.ranked || unknown != result.type.dims.end()) {
      node.fail("output '" + name + "' is " + result.type.type + ": its defaults need extents that inputs have, too");
    }
  }
}

}  // namespace

HostStep read_http_step(const YamlNode& node, const std::string& name, const HostScope& scope) {
  HttpParts parts;
  bool defaults = false;
  double otherwise = 0;
  const YamlNode url = node.at("url");
  try {
    parts.url = HttpUrl::parse(url.name());
  } catch (const std::invalid_argument& error) {
    url.fail(error.what());
  }
  node.fields({{"url", kReadElsewhere},
               {"tls",
                [&](const YamlNode& n) {
                  if (!scope.kept) parts.tls = read_tls_files(n, scope.folder);
                }},
               {"inputs", [&](const YamlNode& n) { parts.inputs = arguments_of(n, scope); }},
               {"outputs", [&](const YamlNode& n) { parts.outputs = outputs_of(n, scope); }},
               {"timeout_ms", [&](const YamlNode& n) { parts.time_out = time_of(n, 0.001); }},
               {"default", [&](const YamlNode& n) { otherwise = n.number(-1e300, 1e300); }},
               {"on_error", [&](const YamlNode& n) {
                  defaults = n.name() == "defaults";
                  if (!defaults && n.name() != "fail") n.expected("fail or defaults");
                }}});
  for (const Argument& input : parts.inputs) {
    if (input.value.type.kind != Array::Kind::tensor || datatype_of(input.value.type.dtype).empty()) {
      node.at("inputs").at(input.name).fail("the protocol has no form for " + input.value.type.type);
    }
  }
  if (!node.find("outputs")) node.at("outputs");
  if (node.find("default") && !defaults) node.at("default").fail("it needs on_error: defaults");
  if (defaults) {
    parts.otherwise = otherwise;
    check_defaults(node.at("on_error"), parts);
  }
  const auto tls = node.find("tls");
  if (tls && !parts.url.shown.starts_with("https:")) tls->fail("requires a URL that begins with https://");
  HostStep step{.results = parts.outputs};
  if (scope.kept) parts.tls = {};
  try {
    step.node = std::make_unique<HttpNode>(name, std::move(parts), scope);
  } catch (const api::Error& error) {
    (tls ? *tls : node).fail(error.what());
  }
  return step;
}

}  // namespace frazil::server
