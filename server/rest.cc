#include "server/rest.h"

#include <algorithm>
#include <array>
#include <optional>

#include "server/generate.h"
#include "server/infer_message.h"
#include "server/json_tensor.h"
#include "server/json_text.h"
#include "server/rest_json.h"
#include "server/splits.h"
#include "server/url.h"

namespace frazil::server {
namespace {

/// Refuses a body that is neither empty nor a JSON object; what the object has is not needed.
void check_json(std::string_view body) {
  if (!body.empty()) JsonObject{body};
}

/// Of a pipeline: {"split": NAME, "arm": NAME}, both of which may be left out.
void reset(const Served& served, std::string_view body) {
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

/// Of a request for the index: those that are ready alone.
bool wants_ready(std::string_view body) {
  if (body.empty()) return false;
  const JsonObject json(body);
  const auto ready = maybe(json.root(), "ready");
  return ready && get<bool>(*ready, "field \"ready\"", "true or false");
}

/// How an action has its request read and its response written.
struct Codec {
  InferRequest (*read)(const Message& message, const Served& served);
  Reply (*write)(const InferResponse& response, const BinaryOutputs& binary);
  Reply (*write_part)(const InferResponse& response) = nullptr;  ///< null: only the last answer is told
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

/// Reads a request; one that cannot be read counts as failed.
InferRequest read_counted(const Codec& codec, const Message& message, const Served& served,
                          Clock::time_point arrived) try {
  return codec.read(message, served);
} catch (const Refusal& refusal) {
  served.count_unread(arrived, refusal);
  throw;
}

/// The time that a request has: nothing where that is not known before it is read. It is looked for where requests
/// wait, so that one that will be late is refused at once; then a request with little text is read twice.
std::optional<Clock::duration> time_left(const Service& service, const Served& served, const Message& message,
                                         Clock::time_point arrived) {
  constexpr auto kNoWait = std::chrono::microseconds(500);
  constexpr std::size_t kLittle = 4096;
  if (service.expected_wait() < kNoWait) return std::nullopt;
  std::optional<Clock::duration> limit = served.usual_limit();
  if (const auto timeout = timeout_in(message, kLittle)) limit = timeout;
  if (!limit) return std::nullopt;
  return *limit - (Clock::now() - arrived);
}

Reply refused(const Refusal& refusal) {
  Reply reply = error_reply(refusal);
  if (refusal.status() == Http::too_many) reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

/// Tells what comes of a request as replies.
class Answer {
 public:
  Answer(const Codec& codec, std::shared_ptr<const Served> served, const InferRequest& request,
         std::shared_ptr<Caller> caller, Rest::Done done)
      : codec_(codec),
        served_(std::move(served)),
        binary_(request),
        caller_(std::move(caller)),
        done_(std::move(done)) {}

  void part(const InferResponse& response) {
    Reply reply = codec_.write_part(response);
    caller_->send(reply.body.size());
    begun_ = true;
    done_(std::move(reply));
  }
  void end(const Outcome& outcome) {
    if (!outcome) return fail(outcome.error());
    const auto computed = Clock::now();
    try {
      Reply reply = codec_.write(*outcome, binary_);
      served_->statistics().compute_output.add(Clock::now() - computed);
      done_(std::move(reply));
    } catch (...) {
      fail(refusal_of_exception());
    }
  }

 private:
  void fail(const Refusal& why) { done_(begun_ ? write_error_event(why) : refused(why)); }

  const Codec& codec_;
  const std::shared_ptr<const Served> served_;
  const BinaryOutputs binary_;
  const std::shared_ptr<Caller> caller_;
  const Rest::Done done_;
  bool begun_ = false;  // a part was told
};

}  // namespace

/// /v2/models/NAME[/versions/VERSION][/ACTION]
struct Rest::Path {
  static constexpr std::string_view kModels = "/v2/models/";
  std::string name, version, action;

  bool runs() const { return action == "infer" || action == "generate" || action == "generate_stream"; }

  static std::optional<Path> parse(std::string_view rest) {
    const auto take = [&] {
      const std::size_t end = std::min(rest.find('/'), rest.size());
      const std::string_view part = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      return part;
    };
    Path path;
    const auto name = decoded(take());
    if (!name || name->empty()) return std::nullopt;
    path.name = *name;
    std::string_view next = take();
    if (next == "versions") {
      path.version = take();
      if (path.version.empty()) return std::nullopt;
      next = take();
    }
    path.action = next;
    return rest.empty() ? std::optional(path) : std::nullopt;
  }
};

std::optional<Reply> Rest::refusal(const Message& begun, Clock::time_point arrived) const {
  try {
    const auto why = why_refused(begun, arrived);
    return why ? std::optional(refused(*why)) : std::nullopt;
  } catch (...) {
    return refused(refusal_of_exception());
  }
}

std::optional<Refusal> Rest::why_refused(const Message& begun, Clock::time_point arrived) const {
  const Sender sender{.asker = asker_of(begun), .caller = nullptr, .arrived = arrived};
  if (!begun.path.starts_with(Path::kModels)) return std::nullopt;
  const auto path = Path::parse(begun.path.substr(Path::kModels.size()));
  if (!path || !path->runs()) return std::nullopt;
  const auto served = service_.find(path->name, path->version);
  expect_method(begun, "POST");
  return service_.refusal(arriving(begun, *served, sender));
}

/// What is known of a request for a model that the sender may use.
Service::Arriving Rest::arriving(const Message& message, const Served& served, const Sender& sender) const {
  sender.asker.check(served.name());
  return {.asker = sender.asker, .target = &served, .time_left = time_left(service_, served, message, sender.arrived)};
}

/// Who is alive and ready is told to everybody.
Tenants::Asker Rest::asker_of(const Message& message) const {
  const bool open = message.path.starts_with("/v2/health/");
  return open ? Tenants::Asker() : service_.tenants().find(message.authorization, message.certificate);
}

void Rest::answer(const Message& message, std::shared_ptr<Caller> caller, Clock::time_point arrived,
                  const Done& done) const {
  try {
    route(message, {.asker = asker_of(message), .caller = std::move(caller), .arrived = arrived}, done);
  } catch (...) {
    done(refused(refusal_of_exception()));
  }
}

void Rest::route(const Message& message, const Sender& sender, Done done) const {
  constexpr std::string_view kRepository = "/v2/repository/";
  const std::string_view path = message.path;
  if (path.starts_with(Path::kModels) && path != "/v2/models/stats") {
    if (const auto parsed = Path::parse(path.substr(Path::kModels.size()))) {
      return of_model(message, *parsed, sender, std::move(done));
    }
  } else if (path == "/v2/paths" || path.starts_with("/v2/paths/")) {
    return of_paths(message, sender, std::move(done));
  } else if (path.starts_with(kRepository)) {
    return change(message, path.substr(kRepository.size()), sender, std::move(done));
  } else if (path == "/v2" || path == "/v2/") {
    expect_method(message, "GET");
    return done(server_metadata_json(service_.version()));
  } else if (path == "/v2/health/live") {
    expect_method(message, "GET");
    return done({.body = R"({"live":true})"});
  } else if (path == "/v2/health/ready") {
    expect_method(message, "GET");
    if (const auto why = service_.why_not_ready()) throw Refusal(Http::unavailable, *why);
    return done({.body = R"({"ready":true})"});
  } else if (path == "/v2/models/stats") {
    expect_method(message, "GET");
    return done(statistics_json(service_.repository()->all()));
  }
  throw Refusal(Http::not_found, "there is no path '" + std::string(path) + "'; see docs/serving.md");
}

void Rest::of_model(const Message& message, const Path& path, const Sender& sender, Done done) const {
  const auto repository = service_.repository();
  const auto served = service_.find(path.name, path.version);
  if (path.runs()) {
    expect_method(message, "POST");
    return infer(message, served, sender, std::move(done));
  }
  if (path.action == "splits") {
    expect_method(message, "GET");
    sender.asker.check(served->name());
    return done({.body = splits_json(*served)});
  }
  if (path.action.empty() || path.action == "ready" || path.action == "stats" || path.action == "config") {
    expect_method(message, "GET");
    if (path.action.empty()) return done(model_metadata_json(*served, repository->versions(path.name)));
    if (path.action == "config") return done(model_config_json(*served));
    if (path.action == "stats") {
      return done(statistics_json(path.version.empty() ? repository->versions(path.name) : std::vector{served}));
    }
    Reply reply{.body = R"({"name":)"};
    append_json(reply.body, served->name());
    reply.body += R"(,"ready":true})";
    return done(std::move(reply));
  }
  throw Refusal(Http::not_found, "model '" + path.name + "' has no '" + path.action + "'");
}

/// A request that is counted among those that wait.
void Rest::infer(const Message& message, std::shared_ptr<const Served> served, const Sender& sender, Done done) const {
  const Done leave = with_place(arriving(message, *served, sender), std::move(done));
  if (leave == nullptr) return;
  const Codec& codec = codec_of(message.path);
  const Served* const target = served.get();
  auto work = answering(leave, [*this, &message, &codec, served = std::move(served), sender](const Done& left) {
    const auto begun = Clock::now();
    Call call{.request = read_counted(codec, message, *served, sender.arrived),
              .caller = sender.caller,
              .asker = sender.asker,
              .arrived = sender.arrived};
    call.trace = message.trace;
    if (!message.session.empty() && call.request.sequence.id.empty()) {
      call.request.sequence = in_session(std::string(message.session), std::move(call.request.sequence));
    }
    served->statistics().compute_input.add(Clock::now() - begun);
    const auto answer = std::make_shared<Answer>(codec, served, call.request, sender.caller, left);
    if (codec.write_part != nullptr) call.part = [answer](const InferResponse& response) { answer->part(response); };
    call.done = [answer](const Outcome& outcome) { answer->end(outcome); };
    service_.infer(served, std::move(call));
  });
  service_.start(target, message.spot, std::move(work));
}

void Rest::reload_config(const Sender& sender, Done done) const {
  sender.asker.check_admin("the configuration");
  const Done leave = with_place({.asker = sender.asker}, std::move(done));
  if (leave == nullptr) return;
  on_worker(leave, [*this](const Done& reloaded) {
    const Service::Reloaded came = service_.reload_config();
    Reply reply{.body = R"({"changed":[)"};
    const auto append = [&](const std::string& key) { append_json(reply.body, key); };
    append_list(reply.body, came.changed, append);
    reply.body += R"(],"left":[)";
    append_list(reply.body, came.left, append);
    reply.body += "]}";
    reloaded(std::move(reply));
  });
}

/// /v2/repository/index, /v2/repository/config/load, and /v2/repository/models/NAME/load, /unload or /reset
void Rest::change(const Message& message, std::string_view rest, const Sender& sender, Done done) const {
  expect_method(message, "POST");
  check_json(message.body);
  if (rest == "index") return done(index_json(*service_.repository(), wants_ready(message.body)));
  if (rest == "config/load") return reload_config(sender, std::move(done));
  constexpr std::string_view kModels = "models/";
  const auto path = rest.starts_with(kModels) ? Path::parse(rest.substr(kModels.size())) : std::nullopt;
  const bool known = path && (path->action == "load" || path->action == "unload" || path->action == "reset");
  if (!known || !path->version.empty()) {
    throw Refusal(Http::not_found, "there is no path '" + std::string(message.path) + "'; see docs/serving.md");
  }
  sender.asker.check(path->name);
  const Done leave = with_place({.asker = sender.asker}, std::move(done));
  if (leave == nullptr) return;
  on_worker(leave, [*this, &message, path = *path](const Done& changed) {
    if (path.action == "reset") {
      reset(*service_.find(path.name, ""), message.body);
    } else {
      path.action == "load" ? service_.load(path.name) : service_.unload(path.name);
    }
    changed({.body = "{}"});
  });
}

Rest::Done Rest::with_place(const Service::Arriving& arriving, Done done) const {
  auto entered = service_.enter(arriving);
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

void Rest::on_worker(Done done, std::function<void(const Done&)> work) const {
  service_.workers().post(answering(std::move(done), std::move(work)));
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
