#include "server/http/rest.h"

#include <algorithm>
#include <array>
#include <optional>

#include "server/http/generate.h"
#include "server/http/rest_at_once.h"
#include "server/http/rest_json.h"
#include "server/pipeline/splits.h"
#include "server/request/infer_message.h"
#include "server/request/json_tensor.h"
#include "server/service/erasure.h"
#include "server/service/policy_reload.h"
#include "server/service/shared_outputs.h"

namespace frazil::server {
namespace {

/// Returns true if an index request asks only for models that are ready.
bool wants_ready(std::string_view body) {
  check_short(body);
  if (body.empty()) return false;
  const JsonObject json(body);
  const auto ready = maybe(json.root(), "ready");
  return ready && get<bool>(*ready, "field \"ready\"", "true or false");
}

/// The parameters of a change.
struct ChangeParameters {
  bool dependents = false;
};

/// Refuses a body that is neither empty nor a JSON object, and unsupported parameters.
ChangeParameters change_parameters_of(std::string_view body) {
  check_short(body);
  ChangeParameters parameters;
  if (body.empty()) return parameters;
  const JsonObject json(body);
  const auto given = maybe(json.root(), "parameters");
  if (!given) return parameters;
  for (const auto& [name, value] : get<dom::object>(*given, "field \"parameters\"", "an object")) {
    check_load_parameter(name);
    if (name == "unload_dependents") {
      parameters.dependents = get<bool>(value, "parameter unload_dependents", "true or false");
    }
  }
  return parameters;
}

/// Ends rollbacks of a pipeline. The body is {"split": NAME, "arm": NAME}, with both keys optional.
void reset_arms(const Served& served, std::string_view body) {
  std::string split, arm;
  if (!body.empty()) {
    const JsonObject json(body);
    for (const auto& [key, value] : json.root()) {
      if (key != "split" && key != "arm") refuse("field \"" + std::string(key) + "\": expected split or arm");
    }
    split = text_or_nothing(json.root(), "split");
    arm = text_or_nothing(json.root(), "arm");
  }
  reset_splits(served, split, arm);
}

/// Reads requests and writes responses of an action.
struct Codec {
  InferRequest (*read)(const Message& message, const Served& served);
  Reply (*write)(const InferResponse& response, const BinaryOutputs& binary);
  Reply (*write_part)(const InferResponse& response) = nullptr;  ///< null: only the last answer is sent
};

constexpr Codec kInfer{.read = [](const Message& message, const Served&) { return read_infer(message); },
                       .write = write_infer};
constexpr Codec kGenerate{
    .read = [](const Message& message, const Served& served) { return read_generate(message.body, served); },
    .write = [](const InferResponse& response, const BinaryOutputs&) { return write_generate(response); }};
constexpr Codec kGenerateStream{
    .read = kGenerate.read,
    .write = [](const InferResponse& response, const BinaryOutputs&) { return write_last_event(response); },
    .write_part = write_part_event};

const Codec& codec_of(std::string_view path) {
  if (path.ends_with("/generate_stream")) return kGenerateStream;
  return path.ends_with("/generate") ? kGenerate : kInfer;
}

/// Reads a request. An unreadable request counts as failed.
InferRequest read_counted(const Codec& codec, const Message& message, const Served& served,
                          const Tenants::Identity& identity, Clock::time_point arrived) try {
  return codec.read(message, served);
} catch (const Refusal& refusal) {
  served.counts().add_unread(identity, arrived, refusal);
  throw;
}

/// Returns the remaining time of a request, or nullopt if it is unknown before the request is read. The time-out is
/// only searched for when requests wait, to refuse late requests early. A request with little JSON is then parsed
/// twice.
std::optional<Clock::duration> time_left(Service& service, const Served& served, const Message& message,
                                         Clock::time_point arrived) {
  constexpr auto kNoWait = std::chrono::microseconds(500);
  constexpr std::size_t kLittle = 4096;
  if (service.admission().expected_wait() < kNoWait) return std::nullopt;
  std::optional<Clock::duration> limit = served.usual_limit();
  if (const auto timeout = timeout_in(message, kLittle)) limit = timeout;
  if (!limit) return std::nullopt;
  return *limit - (Clock::now() - arrived);
}

Reply refused(const Refusal& refusal) {
  Reply reply = error_reply(refusal);
  if (refusal.status() == Http::too_many && refusal.retry_after_s() > 0) {
    reply.headers.emplace_back("Retry-After", std::to_string(refusal.retry_after_s()));
  }
  return reply;
}

/// Sends the results of a request as replies.
class RestAnswer {
 public:
  RestAnswer(Service& service, const Codec& codec, std::shared_ptr<const Served> served, const Call& call,
             Rest::Done done)
      : codec_(codec),
        shared_(service, call.identity, call.request),
        served_(std::move(served)),
        binary_(call.request),
        caller_(call.caller),
        identity_(call.identity),
        done_(std::move(done)),
        hides_details_(service.privacy() != nullptr) {}

  void part(InferResponse response) {
    shared_.place(response);
    Reply reply = codec_.write_part(response);
    caller_->send(reply.body.size());
    begun_ = true;
    done_(std::move(reply));
  }
  void end(Outcome outcome) {
    if (!outcome) return fail(outcome.error());
    const auto computed = Clock::now();
    try {
      shared_.place(*outcome);
      Reply reply = codec_.write(*outcome, binary_);
      const auto wrote = Clock::now() - computed;
      served_->counts().add(identity_, [&](Statistics& s) { s.compute_output.add(wrote); });
      done_(std::move(reply));
    } catch (...) {
      fail(refusal_of_exception());
    }
  }

 private:
  void fail(const Refusal& why) {
    if (!begun_) return done_(refused(why));
    done_(write_error_event(hides_details_ ? why.without_values() : why));
  }

  const Codec& codec_;
  const SharedOutputs shared_;
  const std::shared_ptr<const Served> served_;
  const BinaryOutputs binary_;
  const std::shared_ptr<Caller> caller_;
  const Tenants::Identity identity_;
  const Rest::Done done_;
  const bool hides_details_;
  bool begun_ = false;  // a part was sent
};

}  // namespace

// ---- admission ----

namespace {

Credentials credentials_of(const Message& message) {
  return {.authorization = message.authorization,
          .certificate = message.certificate,
          .host = message.host,
          .origin = message.origin,
          .content_type = message.content_type};
}

}  // namespace

std::expected<Rest::Admitted, Reply> Rest::admit(const Message& head) const {
  try {
    return admit_request(head);
  } catch (...) {
    return std::unexpected(refused(refusal_of_exception()));
  }
}

Rest::Admitted Rest::admit_request(const Message& head) const {
  Admitted admitted;
  admitted.route_ = &route_of(head, admitted.names_);
  const Rule& rule = admitted.route_->rule;
  admitted.identity_ = service_.gate().admit(rule, credentials_of(head));
  const Names& names = admitted.names_;
  if (!names.model.empty()) admitted.identity_.check(names.model);
  if (rule.access == Access::model) admitted.served_ = service_.models().find(names.model, names.version);
  return admitted;
}

/// Throws Refusal (unauthorized) for an unknown caller.
void Rest::check_known(const Message& head) const {
  service_.gate().admit({.access = Access::tenant, .browser = Browser::any_page}, credentials_of(head));
}

std::optional<Reply> Rest::refusal(const Admitted& admitted, const Message& begun, Clock::time_point arrived,
                                   std::size_t ahead) const {
  if (admitted.route_->handler.later != &Rest::infer) return std::nullopt;
  Service::IncomingRequest request = arriving(admitted, begun, arrived);
  request.ahead = ahead;
  const auto why = service_.admission().refusal(request);
  return why ? std::optional(refused(*why)) : std::nullopt;
}

Service::IncomingRequest Rest::arriving(const Admitted& admitted, const Message& message,
                                        Clock::time_point arrived) const {
  return {.identity = admitted.identity_,
          .target = admitted.served_.get(),
          .time_left = time_left(service_, *admitted.served_, message, arrived)};
}

void Rest::check_action(const Admitted& admitted) const {
  service_.gate().check_action(admitted.route_->rule, admitted.identity_, admitted.names_.model);
}

void Rest::answer(Admitted admitted, const Message& message, std::shared_ptr<Caller> caller, Clock::time_point arrived,
                  const Done& done) const {
  const Handler handler = admitted.route_->handler;
  try {
    ActiveRequest asked{.names = std::move(admitted.names_),
                        .identity = std::move(admitted.identity_),
                        .served = std::move(admitted.served_),
                        .message = message,
                        .caller = std::move(caller),
                        .arrived = arrived};
    service_.gate().check_action(admitted.route_->rule, asked.identity, asked.names.model);
    if (handler.at_once != nullptr) return done(handler.at_once(service_, asked));
    (this->*handler.later)(asked, done);
  } catch (...) {
    done(refused(refusal_of_exception()));
  }
}

// ---- inference ----

/// Runs an inference request, which occupies a place until it is answered.
void Rest::infer(ActiveRequest& asked, Done done) const {
  const Message& message = asked.message;
  const Service::IncomingRequest arriving{.identity = asked.identity,
                                          .target = asked.served.get(),
                                          .time_left = time_left(service_, *asked.served, message, asked.arrived)};
  const Done leave = with_place(arriving, std::move(done));
  if (leave == nullptr) return;
  const Codec& codec = codec_of(message.path);
  const Served* const target = asked.served.get();
  auto work = answering(leave, [*this, &message, &codec, asked = std::move(asked)](const Done& left) {
    const auto& served = asked.served;
    const auto begun = Clock::now();
    Call call{.request = read_counted(codec, message, *served, asked.identity, asked.arrived),
              .caller = asked.caller,
              .identity = asked.identity,
              .arrived = asked.arrived,
              .explicit_version = !asked.names.version.empty()};
    take_shared_inputs(service_, asked.identity, call.request);
    call.trace = message.trace;
    if (!message.session.empty() && call.request.sequence.id.empty()) {
      call.request.sequence = in_session(std::string(message.session), std::move(call.request.sequence));
    }
    const auto read = Clock::now() - begun;
    served->counts().add(asked.identity, [&](Statistics& s) { s.compute_input.add(read); });
    const auto answer = std::make_shared<RestAnswer>(service_, codec, served, call, left);
    if (codec.write_part != nullptr) {
      call.part = [answer](InferResponse response) { answer->part(std::move(response)); };
    }
    call.done = [answer](Outcome outcome) { answer->end(std::move(outcome)); };
    service_.infer(served, std::move(call));
  });
  service_.start(target, message.inline_slot, std::move(work));
}

/// Reads the folder on a worker.
void Rest::index(ActiveRequest& asked, Done done) const {
  const Done leave = with_place({.identity = asked.identity}, std::move(done));
  if (leave == nullptr) return;
  service_.workers().post(
      answering(leave, [*this, &message = asked.message, identity = asked.identity](const Done& left) {
        left(index_json(service_.models().index(identity, wants_ready(message.body))));
      }));
}

// ---- changes ----

/// Runs `work` on the thread for changes and answers with its result.
void Rest::change(const ActiveRequest& asked, Done done, std::function<Reply()> work) const {
  const Done leave = with_place({.identity = asked.identity}, std::move(done));
  if (leave == nullptr) return;
  service_.change(answering(leave, [work = std::move(work)](const Done& changed) { changed(work()); }));
}

void Rest::load(ActiveRequest& asked, Done done) const {
  (void)change_parameters_of(asked.message.body);
  change(asked, std::move(done), [this_ = *this, model = asked.names.model] {
    this_.service_.models().load(model);
    return Reply{.body = "{}"};
  });
}

void Rest::unload(ActiveRequest& asked, Done done) const {
  const bool dependents = change_parameters_of(asked.message.body).dependents;
  change(asked, std::move(done), [this_ = *this, model = asked.names.model, dependents] {
    this_.service_.models().unload(model, dependents);
    return Reply{.body = "{}"};
  });
}

void Rest::reset(ActiveRequest& asked, Done done) const {
  change(asked, std::move(done), [this_ = *this, &message = asked.message, model = asked.names.model] {
    reset_arms(*this_.service_.models().find(model, ""), message.body);
    return Reply{.body = "{}"};
  });
}

void Rest::load_config(ActiveRequest& asked, Done done) const {
  (void)change_parameters_of(asked.message.body);
  change(asked, std::move(done),
         [this_ = *this, user = asked.identity.name()] { return reloaded_json(this_.service_.reload_config(user)); });
}

// ---- governance ----

/// Erases a subject on the thread for changes. The body is {"subject": NAME}.
void Rest::erase(ActiveRequest& asked, Done done) const {
  if (asked.identity.name().empty()) {
    throw Refusal(Http::forbidden, "erasure is for administrators: configure tenants, one with admin: true");
  }
  check_short(asked.message.body);
  const JsonObject json(asked.message.body);
  const std::string subject = text_or_nothing(json.root(), "subject");
  if (subject.empty()) refuse("field \"subject\": expected a text that is not empty");
  change(asked, std::move(done), [this_ = *this, subject, actor = asked.identity.name()] {
    const govern::EraseResult erased = erase_subject(this_.service_.options(), subject, actor);
    JsonText answer;
    answer.begin_object();
    answer.member("subject", erased.subject);
    answer.member("event", erased.event);
    answer.member("blobs", erased.blobs);
    answer.end_object();
    return Reply{.body = answer.take()};
  });
}

void Rest::load_policy(ActiveRequest& asked, Done done) const {
  (void)change_parameters_of(asked.message.body);
  change(asked, std::move(done), [this_ = *this] { return policy_json(reload_policy(this_.service_.options())); });
}

// ---- places ----

Rest::Done Rest::with_place(const Service::IncomingRequest& arriving, Done done) const {
  auto entered = service_.admission().enter(arriving);
  if (!entered) {
    done(refused(entered.error()));
    return nullptr;
  }
  auto place = std::make_shared<Service::Place>(std::move(*entered));
  return [place, done = std::move(done)](Reply reply) {
    if (!reply.more) place->reset();
    done(std::move(reply));
  };
}

std::function<void()> Rest::answering(Done done, std::function<void(const Done&)> work) {
  return [done = std::move(done), work = std::move(work)] {
    try {
      work(done);
    } catch (...) {
      done(refused(refusal_of_exception()));
    }
  };
}

}  // namespace frazil::server
