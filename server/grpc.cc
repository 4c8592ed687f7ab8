#include "server/grpc.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "server/grpc_message.h"

namespace frazil::server {
namespace {

using Done = Grpc::Done;

constexpr std::string_view kExtensions[] = {"classification",  "sequence",         "sequence(string_id)",
                                            "schedule_policy", "model_repository", "model_configuration",
                                            "parameters",      "statistics"};
constexpr std::string_view kInference = "inference.GRPCInferenceService";
constexpr std::size_t kLargestMessage = 0x7fffffff;  // of protobuf

GrpcReply reply_of(const Refusal& refusal) {
  return {.code = grpc_code_of(refusal.status()), .text = refusal.what(), .bytes = {}};
}

GrpcReply message_of(std::string bytes) {
  if (bytes.size() > kLargestMessage) {
    throw Refusal(Http::too_large, "the answer has more than " + std::to_string(kLargestMessage) + " bytes");
  }
  return {.code = GrpcCode::ok, .text = {}, .bytes = std::move(bytes)};
}

// ---- what is answered at once ----

using Bytes = std::string_view;

std::string server_live(Service&, Bytes) { return proto::write_truth(true); }
std::string server_ready(Service& service, Bytes) { return proto::write_truth(!service.why_not_ready()); }

std::string model_ready(Service& service, Bytes message) {
  const auto [name, version] = proto::read_model_name(message);
  return proto::write_truth(service.repository()->find(name, version) != nullptr);
}

std::string server_metadata(Service& service, Bytes) {
  return proto::write_server_metadata(service.version(), kExtensions);
}

std::string model_metadata(Service& service, Bytes message) {
  const auto [name, version] = proto::read_model_name(message);
  const auto served = service.find(name, version);
  return proto::write_model_metadata(*served, service.repository()->versions(name));
}

std::string model_config(Service& service, Bytes message) {
  const auto [name, version] = proto::read_model_name(message);
  return proto::write_model_config(*service.find(name, version));
}

std::string model_statistics(Service& service, Bytes message) {
  const auto [name, version] = proto::read_model_name(message);
  if (name.empty()) return proto::write_model_statistics(service.repository()->all());
  const auto served = service.find(name, version);
  return proto::write_model_statistics(version.empty() ? service.repository()->versions(name) : std::vector{served});
}

void expect_own_repository(const proto::RepositoryRequest& request) {
  if (request.repository.empty()) return;
  throw Refusal(Http::unsupported, "repository_name '" + request.repository + "': the models of one folder are served");
}

std::string repository_index(Service& service, Bytes message) {
  const proto::RepositoryRequest request = proto::read_repository_index(message);
  expect_own_repository(request);
  return proto::write_repository_index(*service.repository(), request.ready);
}

std::string health_check(Service& service, Bytes message) {
  const std::string asked = proto::read_health_check(message);
  if (!asked.empty() && asked != kInference) throw Refusal(Http::not_found, "there is no service '" + asked + "'");
  return proto::write_health_check(service.why_not_ready() ? proto::Serving::no : proto::Serving::yes);
}

// ---- what runs on workers ----

Service::Arriving arriving(const Tenants::Asker& asker, const std::optional<Clock::time_point>& deadline,
                           const Served* target = nullptr) {
  return {
      .asker = asker, .target = target, .time_left = deadline ? std::optional(*deadline - Clock::now()) : std::nullopt};
}

/// Has something done for a request, by a worker or here, that has a place among those that wait until it is answered;
/// refuses it where there is none. `target`: the model; null: it is for none.
template <class F>
void on_worker(Service& service, const GrpcCall& call, const Served* target, Done done, F work) {
  auto entered = service.enter(arriving(call.asker, call.deadline, target));
  if (!entered) return done(reply_of(entered.error()));
  const auto place = std::make_shared<Service::Place>(std::move(*entered));
  Done answer = [place, done = std::move(done)](GrpcReply reply) {
    if (!reply.more) place->reset();
    done(std::move(reply));
  };
  service.start(target, call.spot, [answer = std::move(answer), work = std::move(work)]() mutable {
    try {
      work(answer);
    } catch (...) {
      answer(reply_of(refusal_of_exception()));
    }
  });
}

proto::RepositoryRequest read_change(Bytes message) {
  proto::RepositoryRequest request = proto::read_repository_model(message);
  expect_own_repository(request);
  for (const std::string& parameter : request.parameters) {
    if (parameter == "config" || parameter.starts_with("file:")) {
      throw Refusal(Http::unsupported,
                    "parameter " + parameter + ": models are loaded from the folder; put the file there");
    }
  }
  return request;
}

void change(Service& service, const GrpcCall& call, Done done, void (Service::*change)(std::string_view)) {
  on_worker(service, call, nullptr, std::move(done), [&service, call, change](const Done& answer) {
    const std::string model = read_change(*call.message).model;
    call.asker.check(model);
    (service.*change)(model);
    answer({});
  });
}

void load(Service& service, const GrpcCall& call, Done done) { change(service, call, std::move(done), &Service::load); }
void unload(Service& service, const GrpcCall& call, Done done) {
  change(service, call, std::move(done), &Service::unload);
}

/// How a method writes responses.
struct Form {
  std::string (*write)(const InferResponse& response);
  std::string (*write_part)(const InferResponse& response) = nullptr;  ///< null: only the last answer is told
};

constexpr Form kUnary{.write = proto::write_infer};
constexpr Form kStreaming{.write = proto::write_stream_result, .write_part = proto::write_stream_part};

/// Tells what comes of a request as replies.
class Answer {
 public:
  Answer(const Form& form, std::shared_ptr<const Served> served, std::shared_ptr<Caller> caller, Done done)
      : form_(&form), served_(std::move(served)), caller_(std::move(caller)), done_(std::move(done)) {}

  /// Has the last response come behind all others, without outputs.
  void end_empty() { ends_empty_ = true; }
  void begin_parts() const { done_({.more = true}); }
  void part(const InferResponse& response) const {
    GrpcReply reply = message_of(form_->write_part(response));
    reply.more = true;
    caller_->send(reply.bytes.size());
    done_(std::move(reply));
  }
  void end(Outcome outcome) const {
    if (!outcome) return done_(reply_of(outcome.error()));
    const auto computed = Clock::now();
    try {
      if (ends_empty_ && !outcome->outputs.empty()) {
        part(*outcome);
        outcome->outputs.clear();
      }
      GrpcReply reply = message_of(form_->write(*outcome));
      served_->statistics().compute_output.add(Clock::now() - computed);
      done_(std::move(reply));
    } catch (...) {
      done_(reply_of(refusal_of_exception()));
    }
  }

 private:
  const Form* form_;
  std::shared_ptr<const Served> served_;
  std::shared_ptr<Caller> caller_;
  Done done_;
  bool ends_empty_ = false;
};

/// Takes the parameter by which a client asks for a last response without outputs.
bool take_empty_end(InferRequest& request) {
  constexpr const char* kKey = "triton_enable_empty_final_response";
  const auto given = request.parameters.extract(kKey);
  if (given.empty()) return false;
  if (const bool* wanted = std::get_if<bool>(&given.mapped())) return *wanted;
  throw Refusal(Http::bad_request, std::string("parameter ") + kKey + ": expected a bool");
}

/// The model of a request, which the caller may use. Throws Refusal.
std::shared_ptr<const Served> target_of(const Service& service, const GrpcCall& call) {
  const auto [name, version] = proto::model_of_infer(*call.message);
  call.asker.check(name);
  return service.find(name, version);
}

/// Reads a request and has its model run. Throws Refusal.
void run(Service& service, const GrpcCall& call, const std::shared_ptr<const Served>& served, const Form& form,
         const Done& done) {
  if (call.caller->gone()) throw Refusal(Http::cancelled, "the caller is gone");
  const auto begun = Clock::now();
  proto::InferMessage message = proto::read_infer(*call.message, call.message);
  if (!call.session.empty() && message.request.sequence.id.empty()) {
    message.request.sequence = in_session(call.session, std::move(message.request.sequence));
  }
  const bool empty_end = take_empty_end(message.request);
  served->statistics().compute_input.add(Clock::now() - begun);
  Call asked{.request = std::move(message.request),
             .caller = call.caller,
             .asker = call.asker,
             .arrived = call.arrived,
             .deadline = call.deadline,
             .trace = call.trace};
  Answer answer(form, served, call.caller, done);
  if (form.write_part != nullptr && !served->emitted().empty()) {
    if (empty_end) answer.end_empty();
    answer.begin_parts();
    const auto shared = std::make_shared<const Answer>(std::move(answer));
    asked.part = [shared](const InferResponse& response) { shared->part(response); };
    asked.done = [shared](Outcome outcome) { shared->end(std::move(outcome)); };
  } else {
    asked.done = [answer = std::move(answer)](Outcome outcome) { answer.end(std::move(outcome)); };
  }
  service.infer(served, std::move(asked));
}

void infer(Service& service, const GrpcCall& call, Done done) {
  const auto target = target_of(service, call);
  on_worker(service, call, target.get(), std::move(done),
            [&service, call, target](const Done& answer) { run(service, call, target, kUnary, answer); });
}

/// As infer(), where an error is a message, so that the stream goes on.
void stream_infer(Service& service, const GrpcCall& call, Done done) {
  const Done tell = [message = call.message, done = std::move(done)](GrpcReply reply) {
    if (reply.code == GrpcCode::ok) return done(std::move(reply));
    done(message_of(proto::write_stream_error(reply.text, proto::id_of_infer(*message))));
  };
  try {
    const auto target = target_of(service, call);
    on_worker(service, call, target.get(), tell,
              [&service, call, target](const Done& answer) { run(service, call, target, kStreaming, answer); });
  } catch (...) {
    tell(reply_of(refusal_of_exception()));
  }
}

// ---- methods ----

struct Method {
  std::string_view name;
  std::string (*at_once)(Service&, Bytes);             ///< null: on a worker
  void (*on_worker)(Service&, const GrpcCall&, Done);  ///< null: at once
  Grpc::Kind kind = Grpc::Kind::unary;
  bool open = false;  ///< for those who are no tenants, too
};

constexpr Method kMethods[] = {
    {"/inference.GRPCInferenceService/ModelInfer", nullptr, infer},
    {"/inference.GRPCInferenceService/ModelStreamInfer", nullptr, stream_infer, Grpc::Kind::streaming},
    {"/inference.GRPCInferenceService/ServerLive", server_live, nullptr, Grpc::Kind::unary, true},
    {"/inference.GRPCInferenceService/ServerReady", server_ready, nullptr, Grpc::Kind::unary, true},
    {"/inference.GRPCInferenceService/ModelReady", model_ready, nullptr},
    {"/inference.GRPCInferenceService/ServerMetadata", server_metadata, nullptr},
    {"/inference.GRPCInferenceService/ModelMetadata", model_metadata, nullptr},
    {"/inference.GRPCInferenceService/ModelConfig", model_config, nullptr},
    {"/inference.GRPCInferenceService/ModelStatistics", model_statistics, nullptr},
    {"/inference.GRPCInferenceService/RepositoryIndex", repository_index, nullptr},
    {"/inference.GRPCInferenceService/RepositoryModelLoad", nullptr, load},
    {"/inference.GRPCInferenceService/RepositoryModelUnload", nullptr, unload},
    {"/grpc.health.v1.Health/Check", health_check, nullptr, Grpc::Kind::unary, true},
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

Grpc::Kind Grpc::kind_of(std::string_view method) { return method_of(method).kind; }

std::optional<Refusal> Grpc::refusal(const Begun& call) const {
  const Method& method = method_of(call.method);
  if (method.open) return std::nullopt;
  const Tenants::Asker asker = service_.tenants().find(call.authorization, call.certificate);
  const bool waits = method.on_worker != nullptr && method.kind == Kind::unary;
  return waits ? service_.refusal(arriving(asker, call.deadline)) : std::nullopt;
}

void Grpc::answer(GrpcCall call, Done done) const {
  const auto refused = done;
  try {
    const Method& method = method_of(call.method);
    if (!method.open) call.asker = service_.tenants().find(call.authorization, call.certificate);
    if (method.on_worker != nullptr) return method.on_worker(service_, call, std::move(done));
    done(message_of(method.at_once(service_, *call.message)));
  } catch (...) {
    refused(reply_of(refusal_of_exception()));
  }
}

}  // namespace frazil::server
