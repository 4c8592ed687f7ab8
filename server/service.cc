#include "server/service.h"

#include <algorithm>
#include <optional>

#include <frazil/error.h>

#include "server/datatype.h"
#include "server/infer_message.h"
#include "server/json_text.h"

namespace frazil::server {
namespace {

using api::Array;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kExtensions = R"(["binary_tensor_data","parameters","statistics","model_repository"])";

Http status_of(api::Code code, bool has_timeout) {
  switch (code) {
    case api::Code::limit: return has_timeout ? Http::timeout : Http::bad_request;
    case api::Code::unsupported: return Http::unsupported;
    case api::Code::out_of_memory: return Http::unavailable;
    case api::Code::cancelled: return Http::cancelled;
    case api::Code::internal: return Http::internal;
    default: return Http::bad_request;
  }
}

/// "%20" and the like as the bytes that they stand for; nothing where one is cut off or no hexadecimal number.
std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    unsigned byte = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const char* const end = text.data() + i + 3;
    const auto parsed = std::from_chars(text.data() + i + 1, end, byte, 16);
    if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
    plain += static_cast<char>(byte);
    i += 2;
  }
  return plain;
}

void append_port(std::string& json, const api::Port& port) {
  json += R"({"name":)";
  append_json(json, port.name);
  const std::string_view datatype = port.kind == Array::Kind::tensor ? datatype_of(port.dtype) : std::string_view();
  json += R"(,"datatype":)";
  append_json(json, datatype.empty() ? port.type : datatype);
  json += R"(,"shape":[)";
  append_list(json, port.dims, [&](const std::string& dim) {
    std::int64_t extent = 0;
    const auto parsed = std::from_chars(dim.data(), dim.data() + dim.size(), extent);
    const bool known = parsed.ec == std::errc() && parsed.ptr == dim.data() + dim.size();
    append_number(json, known ? extent : -1);
  });
  json += "]}";
}

void append_ports(std::string& json, std::string_view key, const std::vector<api::Port>& ports) {
  ((json += ",\"") += key) += "\":[";
  append_list(json, ports, [&](const api::Port& port) { append_port(json, port); });
  json += ']';
}

Reply model_metadata(const ServedModel& served, const std::vector<const ServedModel*>& versions) {
  Reply reply{.body = R"({"name":)"};
  append_json(reply.body, served.name());
  reply.body += R"(,"versions":[)";
  append_list(reply.body, versions, [&](const ServedModel* version) { append_json(reply.body, version->version()); });
  reply.body += R"(],"platform":"frazil_onnx")";
  append_ports(reply.body, "inputs", served.model().inputs());
  append_ports(reply.body, "outputs", served.model().outputs());
  reply.body += '}';
  return reply;
}

void append_timed(std::string& json, std::string_view key, const Timed& timed, bool first = false) {
  if (!first) json += ',';
  append_json(json, key);
  json += R"(:{"count":)";
  append_number(json, timed.count());
  json += R"(,"ns":)";
  append_number(json, timed.nanoseconds());
  json += '}';
}

void append_statistics(std::string& json, const ServedModel& served) {
  const Statistics& s = served.statistics();
  json += R"({"name":)";
  append_json(json, served.name());
  json += R"(,"version":)";
  append_json(json, served.version());
  json += R"(,"last_inference":)";
  append_number(json, s.last_inference_ms.load());
  for (const char* key : {"inference_count", "execution_count"}) {
    json += ',';
    append_json(json, key);
    json += ':';
    append_number(json, s.success.count());
  }
  json += R"(,"inference_stats":{)";
  append_timed(json, "success", s.success, true);
  append_timed(json, "fail", s.fail);
  append_timed(json, "queue", s.queue);
  append_timed(json, "compute_input", s.compute_input);
  append_timed(json, "compute_infer", s.compute_infer);
  append_timed(json, "compute_output", s.compute_output);
  const Timed none;
  append_timed(json, "cache_hit", none);
  append_timed(json, "cache_miss", none);
  json += R"(},"batch_stats":[]})";
}

Reply statistics_of(const std::vector<const ServedModel*>& list) {
  Reply reply{.body = R"({"model_stats":[)"};
  append_list(reply.body, list, [&](const ServedModel* served) { append_statistics(reply.body, *served); });
  reply.body += "]}";
  return reply;
}

struct ChosenOutput {
  std::size_t position;
  bool binary;
};

/// The outputs that are answered with.
std::vector<ChosenOutput> chosen_outputs(const ServedModel& served, const InferRequest& request) {
  const auto& ports = served.model().outputs();
  std::vector<ChosenOutput> chosen;
  for (std::size_t i = 0; request.outputs.empty() && i < ports.size(); ++i) {
    chosen.push_back({i, request.binary_outputs});
  }
  for (const WantedOutput& wanted : request.outputs) {
    const auto at = std::ranges::find(ports, wanted.name, &api::Port::name);
    if (at == ports.end()) {
      throw Refusal(Http::bad_request, "model '" + served.name() + "' has no output '" + wanted.name + "'");
    }
    chosen.push_back({static_cast<std::size_t>(at - ports.begin()), wanted.binary.value_or(request.binary_outputs)});
  }
  return chosen;
}

/// Milliseconds that are left of a request's time-out; refuses it when there are none.
std::optional<double> time_left(const ServedModel& served, const InferRequest& request, Clock::time_point arrived) {
  if (!request.timeout_us || *request.timeout_us == 0) return served.deadline_ms();
  const double gone = std::chrono::duration<double, std::milli>(Clock::now() - arrived).count();
  const double left = static_cast<double>(*request.timeout_us) * 1e-3 - gone;
  if (left <= 0) throw Refusal(Http::timeout, "the time-out has passed before the request could run");
  return left;
}

/// Lends a session to a caller, who may end its run.
class Attached {
 public:
  Attached(Caller& caller, api::Session& session) : caller_(caller) {
    if (!caller.attach(session)) throw Refusal(Http::cancelled, "the caller is gone");
  }
  ~Attached() { caller_.release(); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  Caller& caller_;
};

std::int64_t milliseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

void expect_method(const Message& message, std::string_view method) {
  if (message.method == method) return;
  throw Refusal(Http::method_not_allowed, std::string(message.path) + ": expected " + std::string(method) + ", got " +
                                              std::string(message.method));
}

}  // namespace

/// /v2/models/NAME[/versions/VERSION][/ACTION]
struct Service::Path {
  std::string name, version, action;

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

Reply Service::answer(const Message& message, Caller& caller, Clock::time_point arrived) const try {
  return route(message, caller, arrived);
} catch (const Refusal& refusal) {
  return error_reply(refusal.status(), refusal.what());
} catch (const api::Error& error) {
  return error_reply(status_of(error.code(), false), error.what());
} catch (const std::bad_alloc&) {
  return error_reply(Http::unavailable, "out of memory");
} catch (const std::exception& error) {
  return error_reply(Http::internal, error.what());
}

Reply Service::route(const Message& message, Caller& caller, Clock::time_point arrived) const {
  constexpr std::string_view kModels = "/v2/models/";
  const std::string_view path = message.path;
  if (path.starts_with(kModels) && path != "/v2/models/stats") {
    const auto parsed = Path::parse(path.substr(kModels.size()));
    if (parsed) return of_model(message, *parsed, caller, arrived);
  } else if (path == "/v2/repository/index") {
    expect_method(message, "POST");
    return index();
  } else if (path == "/v2" || path == "/v2/") {
    expect_method(message, "GET");
    return server_metadata();
  } else if (path == "/v2/health/live") {
    expect_method(message, "GET");
    return {.body = R"({"live":true})"};
  } else if (path == "/v2/health/ready") {
    expect_method(message, "GET");
    if (!ready_) throw Refusal(Http::unavailable, "the server is ending");
    return {.body = R"({"ready":true})"};
  } else if (path == "/v2/models/stats") {
    expect_method(message, "GET");
    return statistics_of(repository_.all());
  }
  throw Refusal(Http::not_found, "there is no path '" + std::string(path) + "'; see docs/serving.md");
}

Reply Service::of_model(const Message& message, const Path& path, Caller& caller, Clock::time_point arrived) const {
  const ServedModel* const served = repository_.find(path.name, path.version);
  if (served == nullptr) {
    const std::string version = path.version.empty() ? "" : " in version '" + path.version + "'";
    throw Refusal(Http::not_found, "there is no model '" + path.name + "'" + version);
  }
  if (path.action == "infer") {
    expect_method(message, "POST");
    return infer(*served, message, caller, arrived);
  }
  if (path.action.empty() || path.action == "ready" || path.action == "stats") {
    expect_method(message, "GET");
    if (path.action.empty()) return model_metadata(*served, repository_.versions(path.name));
    if (path.action == "stats") {
      return statistics_of(path.version.empty() ? repository_.versions(path.name) : std::vector{served});
    }
    Reply reply{.body = R"({"name":)"};
    append_json(reply.body, served->name());
    reply.body += R"(,"ready":true})";
    return reply;
  }
  throw Refusal(Http::not_found, "model '" + path.name + "' has no '" + path.action + "'");
}

Reply Service::infer(const ServedModel& served, const Message& message, Caller& caller,
                     Clock::time_point arrived) const {
  Statistics& statistics = served.statistics();
  const auto begun = Clock::now();
  const auto failed = [&] {
    const auto time = Clock::now() - arrived;
    statistics.fail.add(time);
    statistics.duration.add(time);
  };
  bool has_timeout = served.deadline_ms().has_value();
  try {
    InferRequest request = read_infer(message);
    has_timeout |= request.timeout_us.has_value();
    const std::vector<ChosenOutput> chosen = chosen_outputs(served, request);
    const auto read = Clock::now();
    ServedModel::Borrowed session(served);
    session->set_deadline(time_left(served, request, arrived));
    std::vector<api::Named> inputs;
    for (auto& [name, value] : request.inputs) inputs.push_back({name, std::move(value)});
    api::Results results = [&] {
      const Attached attached(caller, *session);
      return session->run(inputs);
    }();
    const auto computed = Clock::now();
    Answer answer{.model = served.name(), .version = served.version(), .id = request.id, .outputs = {}, .binary = {}};
    for (const auto& [position, binary] : chosen) {
      answer.outputs.emplace_back(served.model().outputs()[position].name, results[position]);
      answer.binary.push_back(binary);
    }
    Reply reply = write_infer(answer);
    const auto written = Clock::now();
    statistics.queue.add(begun - arrived);
    statistics.compute_input.add(read - begun);
    statistics.compute_infer.add(computed - read);
    statistics.compute_output.add(written - computed);
    statistics.success.add(written - arrived);
    statistics.duration.add(written - arrived);
    statistics.last_inference_ms = milliseconds_since_1970();
    return reply;
  } catch (const api::Error& error) {
    failed();
    throw Refusal(status_of(error.code(), has_timeout), error.what());
  } catch (...) {
    failed();
    throw;
  }
}

Reply Service::server_metadata() const {
  Reply reply{.body = R"({"name":"frazil","version":)"};
  append_json(reply.body, version_);
  ((reply.body += R"(,"extensions":)") += kExtensions) += '}';
  return reply;
}

Reply Service::index() const {
  Reply reply{.body = "["};
  append_list(reply.body, repository_.all(), [&](const ServedModel* served) {
    reply.body += R"({"name":)";
    append_json(reply.body, served->name());
    reply.body += R"(,"version":)";
    append_json(reply.body, served->version());
    reply.body += R"(,"state":"READY","reason":""})";
  });
  reply.body += ']';
  return reply;
}

}  // namespace frazil::server
