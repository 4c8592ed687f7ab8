#include "server/grpc/grpc.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "server/grpc/grpc_management.h"
#include "server/grpc/grpc_message.h"
#include "server/grpc/grpc_reflection.h"
#include "server/service/extensions.h"
#include "server/service/shared_outputs.h"

namespace frazil::server {
namespace {

using Done = Grpc::Done;

constexpr std::string_view kInference = "inference.GRPCInferenceService";
constexpr std::size_t kLargestMessage = 0x7fffffff;  // limit of protobuf

GrpcReply message_reply(std::string bytes) {
  if (bytes.size() > kLargestMessage) {
    throw Refusal(Http::too_large, "the answer has more than " + std::to_string(kLargestMessage) + " bytes");
  }
  return {.code = GrpcCode::ok, .text = {}, .bytes = std::move(bytes)};
}

// ---- methods that answer immediately ----

using Bytes = std::string_view;

/// A call that is answered immediately.
struct Quick {
  Service& service;
  Bytes message;
  const Tenants::Identity& identity;
};

std::string server_live(const Quick&) { return proto::write_bool(true); }
std::string server_ready(const Quick& call) { return proto::write_bool(!call.service.why_not_ready()); }

std::string model_ready(const Quick& call) {
  const auto [name, version] = proto::read_model_name(call.message);
  return proto::write_bool(call.service.repository()->find(name, version) != nullptr);
}

std::string server_metadata(const Quick& call) {
  const ServiceOptions& options = call.service.options();
  const std::string code_generator = "code_generator(" + options.code_generator + ")";
  std::vector<std::string_view> extensions(std::begin(kExtensions), std::end(kExtensions));
  extensions.push_back(code_generator);
  return proto::write_server_metadata(options.version, extensions);
}

std::string model_metadata(const Quick& call) {
  const auto [name, version] = proto::read_model_name(call.message);
  const auto served = call.service.models().find(name, version);
  return proto::write_model_metadata(*served, call.service.repository()->versions(name));
}

std::string model_config(const Quick& call) {
  const auto [name, version] = proto::read_model_name(call.message);
  return proto::write_model_config(*call.service.models().find(name, version));
}

/// Writes the statistics of a model, or without a name those of all models that the caller may use.
std::string model_statistics(const Quick& call) {
  const auto [name, version] = proto::read_model_name(call.message);
  if (name.empty()) return proto::write_model_statistics(call.service.models().seen_by(call.identity), call.identity);
  const auto served = call.service.models().find(name, version);
  return proto::write_model_statistics(
      version.empty() ? call.service.repository()->versions(name) : std::vector{served}, call.identity);
}

void expect_own_repository(const proto::RepositoryRequest& request) {
  if (request.repository.empty()) return;
  throw Refusal(Http::unsupported, "repository_name '" + request.repository + "': the models of one folder are served");
}

/// Never refuses: a service that is unknown now may be known later.
std::string health_watch(const Quick& call) {
  const std::string asked = proto::read_health_check(call.message);
  if (!asked.empty() && asked != kInference) return proto::write_health_check(proto::Serving::unknown_service);
  return proto::write_health_check(call.service.why_not_ready() ? proto::Serving::no : proto::Serving::yes);
}

std::string health_check(const Quick& call) {
  const std::string asked = proto::read_health_check(call.message);
  if (!asked.empty() && asked != kInference) throw Refusal(Http::not_found, "there is no service '" + asked + "'");
  return proto::write_health_check(call.service.why_not_ready() ? proto::Serving::no : proto::Serving::yes);
}

std::string log_settings(const Quick& call) {
  return proto::log_settings_response(call.service, call.identity, call.message);
}
std::string trace_setting(const Quick& call) {
  return proto::trace_setting_response(call.service, call.identity, call.message);
}
std::string shared_memory_status(const Quick& call) {
  return proto::shared_memory_status(call.service.shared_memory(), call.identity, call.message);
}
std::string shared_memory_register(const Quick& call) {
  return proto::register_shared_memory(call.service.shared_memory(), call.identity, call.message);
}
std::string shared_memory_unregister(const Quick& call) {
  return proto::unregister_shared_memory(call.service.shared_memory(), call.identity, call.message);
}

std::string reflect(const Quick& call) { return proto::reflection_response(call.message); }

// ---- methods that run on workers ----

Service::IncomingRequest arriving(const Tenants::Identity& identity, const std::optional<Clock::time_point>& deadline,
                                  const Served* target = nullptr) {
  return {.identity = identity,
          .target = target,
          .time_left = deadline ? std::optional(*deadline - Clock::now()) : std::nullopt};
}

/// Occupies a place in the queue until the request is answered, and passes its work to `start`. Refuses the request if
/// no place is free. `target` is the model, or null for none.
template <class F>
void with_place(Service& service, const GrpcCall& call, const Served* target, const Done& done, F work,
                const std::function<void(std::function<void()>)>& start) {
  auto entered = service.admission().enter(arriving(call.identity, call.deadline, target));
  if (!entered) return done(reply_of(entered.error()));
  const auto place = std::make_shared<Service::Place>(std::move(*entered));
  Done answer = [place, done](GrpcReply reply) {
    if (!reply.more) place->reset();
    done(std::move(reply));
  };
  start([answer = std::move(answer), work = std::move(work)]() mutable {
    try {
      work(answer);
    } catch (...) {
      answer(reply_of(refusal_of_exception()));
    }
  });
}

/// Runs the work on a worker or on this thread.
template <class F>
void on_worker(Service& service, const GrpcCall& call, const Served* target, const Done& done, F work) {
  with_place(service, call, target, done, std::move(work),
             [&](std::function<void()> started) { service.start(target, call.inline_slot, std::move(started)); });
}

void repository_index(Service& service, const GrpcCall& call, const Done& done) {
  const auto work = [&service, call](const Done& answer) {
    const proto::RepositoryRequest request = proto::read_repository_index(*call.message);
    expect_own_repository(request);
    answer(message_reply(proto::write_repository_index(service.models().index(call.identity, request.ready))));
  };
  on_worker(service, call, nullptr, done, work);
}

proto::RepositoryRequest read_repository_change(Bytes message) {
  proto::RepositoryRequest request = proto::read_repository_model(message);
  expect_own_repository(request);
  for (const std::string& parameter : request.parameters) check_load_parameter(parameter);
  return request;
}

void change(Service& service, const GrpcCall& call, const Done& done,
            void (*change)(Service&, const proto::RepositoryRequest&)) {
  const auto work = [&service, call, change](const Done& answer) {
    change(service, read_repository_change(*call.message));
    answer({});
  };
  with_place(service, call, nullptr, done, work,
             [&](std::function<void()> started) { service.change(std::move(started)); });
}

void load(Service& service, const GrpcCall& call, const Done& done) {
  change(service, call, done,
         [](Service& of, const proto::RepositoryRequest& asked) { of.models().load(asked.model); });
}
void unload(Service& service, const GrpcCall& call, const Done& done) {
  change(service, call, done, [](Service& of, const proto::RepositoryRequest& asked) {
    of.models().unload(asked.model, asked.unload_dependents);
  });
}

/// The functions by which a method writes responses.
struct Form {
  std::string (*write)(const InferResponse& response);
  std::string (*write_part)(const InferResponse& response) = nullptr;  ///< null: only the last answer is sent
};

constexpr Form kUnary{.write = proto::write_infer};
constexpr Form kStreaming{.write = proto::write_stream_result, .write_part = proto::write_stream_part};

/// Sends the results of a request as replies.
class GrpcAnswer {
 public:
  GrpcAnswer(const Form& form, std::shared_ptr<const Served> served, const GrpcCall& call, SharedOutputs shared,
             Done done)
      : form_(&form),
        shared_(std::move(shared)),
        served_(std::move(served)),
        caller_(call.caller),
        identity_(call.identity),
        done_(std::move(done)) {}

  /// Sends the last response without outputs, after all others.
  void end_empty() { ends_empty_ = true; }
  void begin_parts() const { done_({.more = true}); }
  void part(InferResponse response) const {
    shared_.place(response);
    GrpcReply reply = message_reply(form_->write_part(response));
    reply.more = true;
    caller_->send(reply.bytes.size());
    done_(std::move(reply));
  }
  void end(Outcome outcome) const {
    if (!outcome) return done_(reply_of(outcome.error()));
    const auto computed = Clock::now();
    try {
      shared_.place(*outcome);
      if (ends_empty_ && !outcome->outputs.empty()) {
        part(*outcome);
        outcome->outputs.clear();
        outcome->shared.clear();
      }
      GrpcReply reply = message_reply(form_->write(*outcome));
      const auto wrote = Clock::now() - computed;
      served_->counts().add(identity_, [&](Statistics& s) { s.compute_output.add(wrote); });
      done_(std::move(reply));
    } catch (...) {
      done_(reply_of(refusal_of_exception()));
    }
  }

 private:
  const Form* form_;
  SharedOutputs shared_;
  std::shared_ptr<const Served> served_;
  std::shared_ptr<Caller> caller_;
  Tenants::Identity identity_;
  Done done_;
  bool ends_empty_ = false;
};

/// Extracts the parameter that requests a last response without outputs.
bool take_empty_end(InferRequest& request) {
  constexpr const char* kKey = "triton_enable_empty_final_response";
  const auto given = request.parameters.extract(kKey);
  if (given.empty()) return false;
  if (const bool* wanted = std::get_if<bool>(&given.mapped())) return *wanted;
  throw Refusal(Http::bad_request, std::string("parameter ") + kKey + ": expected a bool");
}

/// Returns the model of a request. Throws Refusal.
std::shared_ptr<const Served> target_of(const Service& service, const GrpcCall& call) {
  const auto [name, version] = proto::model_of_infer(*call.message);
  return service.models().find(name, version);
}

/// Reads a request and runs its model. Throws Refusal.
void run(Service& service, const GrpcCall& call, const std::shared_ptr<const Served>& served, const Form& form,
         const Done& done) {
  const bool explicit_version = !proto::model_of_infer(*call.message).version.empty();
  if (call.caller->disconnected()) throw Refusal(Http::cancelled, "the caller has disconnected");
  const auto begun = Clock::now();
  proto::InferMessage message = proto::read_infer(*call.message, call.message);
  if (!call.session.empty() && message.request.sequence.id.empty()) {
    message.request.sequence = in_session(call.session, std::move(message.request.sequence));
  }
  const bool empty_end = take_empty_end(message.request);
  take_shared_inputs(service, call.identity, message.request);
  SharedOutputs shared(service, call.identity, message.request);
  const auto read = Clock::now() - begun;
  served->counts().add(call.identity, [&](Statistics& s) { s.compute_input.add(read); });
  Call asked{.request = std::move(message.request),
             .caller = call.caller,
             .identity = call.identity,
             .arrived = call.arrived,
             .deadline = call.deadline,
             .trace = call.trace,
             .explicit_version = explicit_version};
  GrpcAnswer answer(form, served, call, std::move(shared), done);
  if (form.write_part != nullptr && !served->emitted().empty()) {
    if (empty_end) answer.end_empty();
    answer.begin_parts();
    const auto kept = std::make_shared<const GrpcAnswer>(std::move(answer));
    asked.part = [kept](InferResponse response) { kept->part(std::move(response)); };
    asked.done = [kept](Outcome outcome) { kept->end(std::move(outcome)); };
  } else {
    asked.done = [answer = std::move(answer)](Outcome outcome) { answer.end(std::move(outcome)); };
  }
  service.infer(served, std::move(asked));
}

void infer(Service& service, const GrpcCall& call, const Done& done) {
  const auto target = target_of(service, call);
  on_worker(service, call, target.get(), done,
            [&service, call, target](const Done& answer) { run(service, call, target, kUnary, answer); });
}

void stream_infer(Service& service, const GrpcCall& call, const Done& done) {
  const auto target = target_of(service, call);
  on_worker(service, call, target.get(), done,
            [&service, call, target](const Done& answer) { run(service, call, target, kStreaming, answer); });
}

/// Wraps `done` to report errors as messages, so that the stream continues after an error.
Done with_errors_as_messages(const Service& service, const GrpcCall& call, Done done) {
  return [&service, message = call.message, done = std::move(done)](GrpcReply reply) {
    if (reply.code == GrpcCode::ok) return done(std::move(reply));
    const bool hides = !reply.plain.empty() && service.privacy() != nullptr;
    done(message_reply(proto::write_stream_error(hides ? reply.plain : reply.text, proto::id_of_infer(*message))));
  };
}

// ---- methods ----

std::string model_in_request(Bytes message) { return proto::read_model_name(message).name; }
std::string model_in_change(Bytes message) { return proto::read_repository_model(message).model; }
std::string model_in_infer(Bytes message) { return proto::model_of_infer(message).name; }

struct Method : Grpc::Listed {
  std::string (*at_once)(const Quick&);                       ///< null: on a worker
  void (*on_worker)(Service&, const GrpcCall&, const Done&);  ///< null: answered immediately
  std::string (*model_in)(Bytes) = nullptr;                   ///< returns the model that a message is for
  Grpc::Kind kind = Grpc::Kind::unary;
};

constexpr Method kMethods[] = {
    {{"/inference.GRPCInferenceService/ModelInfer", kInferRule}, nullptr, infer, model_in_infer},
    {{"/inference.GRPCInferenceService/ModelStreamInfer", kInferRule},
     nullptr,
     stream_infer,
     model_in_infer,
     Grpc::Kind::streaming},
    {{"/inference.GRPCInferenceService/ServerLive", kOpenRule}, server_live, nullptr},
    {{"/inference.GRPCInferenceService/ServerReady", kOpenRule}, server_ready, nullptr},
    {{"/inference.GRPCInferenceService/ModelReady", kModelRule}, model_ready, nullptr, model_in_request},
    {{"/inference.GRPCInferenceService/ServerMetadata", kTenantRule}, server_metadata, nullptr},
    {{"/inference.GRPCInferenceService/ModelMetadata", kModelRule}, model_metadata, nullptr, model_in_request},
    {{"/inference.GRPCInferenceService/ModelConfig", kModelRule}, model_config, nullptr, model_in_request},
    {{"/inference.GRPCInferenceService/ModelStatistics", kModelRule}, model_statistics, nullptr, model_in_request},
    {{"/inference.GRPCInferenceService/RepositoryIndex", kTenantRule}, nullptr, repository_index},
    {{"/inference.GRPCInferenceService/RepositoryModelLoad", control_rule("load")}, nullptr, load, model_in_change},
    {{"/inference.GRPCInferenceService/RepositoryModelUnload", control_rule("unload")},
     nullptr,
     unload,
     model_in_change},
    {{"/grpc.health.v1.Health/Check", kOpenRule}, health_check, nullptr},
    {{"/grpc.health.v1.Health/Watch", kOpenRule}, health_watch, nullptr, nullptr, Grpc::Kind::watching},
    {{"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", kTenantRule},
     reflect,
     nullptr,
     nullptr,
     Grpc::Kind::streaming},
    {{"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kTenantRule},
     reflect,
     nullptr,
     nullptr,
     Grpc::Kind::streaming},
    {{"/inference.GRPCInferenceService/LogSettings", kTenantRule}, log_settings, nullptr},
    {{"/inference.GRPCInferenceService/TraceSetting", kTenantRule}, trace_setting, nullptr},
    {{"/inference.GRPCInferenceService/SystemSharedMemoryStatus", kSharedMemoryRule}, shared_memory_status, nullptr},
    {{"/inference.GRPCInferenceService/SystemSharedMemoryRegister", kSharedMemoryRule},
     shared_memory_register,
     nullptr},
    {{"/inference.GRPCInferenceService/SystemSharedMemoryUnregister", kSharedMemoryRule},
     shared_memory_unregister,
     nullptr},
};

const Method& method_of(std::string_view name) {
  const auto* const method = std::ranges::find(kMethods, name, &Method::name);
  if (method == std::end(kMethods)) {
    throw Refusal(Http::unsupported, "method '" + std::string(name) + "' is not supported");
  }
  return *method;
}

}  // namespace

GrpcCode grpc_code_of(Http status) {
  switch (status) {
    case Http::ok: return GrpcCode::ok;
    case Http::bad_request: return GrpcCode::invalid_argument;
    case Http::unauthorized: return GrpcCode::unauthenticated;
    case Http::forbidden: return GrpcCode::permission_denied;
    case Http::not_found: return GrpcCode::not_found;
    case Http::too_large:
    case Http::too_many: return GrpcCode::resource_exhausted;
    case Http::cancelled: return GrpcCode::cancelled;
    case Http::unsupported: return GrpcCode::unimplemented;
    case Http::unavailable: return GrpcCode::unavailable;
    case Http::timeout: return GrpcCode::deadline_exceeded;
    default: return GrpcCode::internal;
  }
}

GrpcReply reply_of(const Refusal& refusal) {
  GrpcReply reply{.code = grpc_code_of(refusal.status()), .text = refusal.what(), .bytes = {}};
  if (!refusal.is_plain()) reply.plain = refusal.without_values().what();
  return reply;
}

std::vector<Grpc::Listed> Grpc::methods() { return {std::begin(kMethods), std::end(kMethods)}; }

Grpc::Kind Grpc::kind_of(std::string_view method) { return method_of(method).kind; }

Grpc::Admitted Grpc::admit(const CallHeader& call) const {
  const Method& method = method_of(call.method);
  Admitted admitted{.identity = service_.gate().admit(method.rule, call.by), .refusal = {}};
  const bool waits = method.on_worker != nullptr && method.kind == Kind::unary;
  if (waits) admitted.refusal = service_.admission().refusal(arriving(admitted.identity, call.deadline));
  return admitted;
}

std::string Grpc::model_in(std::string_view method, std::string_view message) try {
  const Method& called = method_of(method);
  return called.model_in == nullptr ? "" : called.model_in(message);
} catch (const Refusal&) {
  return {};
}

std::string Grpc::value_of(std::string_view method, std::string_view message) const {
  return method_of(method).at_once({.service = service_, .message = message, .identity = {}});
}

/// Throws Refusal (forbidden) for a message about a model that the caller may not use. Only a request for statistics
/// may omit the name.
void Grpc::check_model(const GrpcCall& call) {
  const Method& method = method_of(call.method);
  if (method.model_in == nullptr && method.rule.access == Access::model) {
    throw Refusal(Http::forbidden, "no rule names the model of this request");
  }
  const std::string model = method.model_in == nullptr ? "" : method.model_in(*call.message);
  if (!model.empty()) call.identity.check(model);
}

void Grpc::answer(GrpcCall call, Done done) const {
  try {
    const Method& method = method_of(call.method);
    call.identity = service_.gate().admit(method.rule, call.by());
    if (method.on_worker == stream_infer) done = with_errors_as_messages(service_, call, std::move(done));
  } catch (...) {
    return done(reply_of(refusal_of_exception()));
  }
  try {
    const Method& method = method_of(call.method);
    check_model(call);
    service_.gate().check_action(method.rule, call.identity, model_in(call.method, *call.message));
    if (method.on_worker != nullptr) return method.on_worker(service_, call, done);
    done(message_reply(method.at_once({.service = service_, .message = *call.message, .identity = call.identity})));
  } catch (...) {
    done(reply_of(refusal_of_exception()));
  }
}

}  // namespace frazil::server
