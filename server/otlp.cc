#include "server/otlp.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <random>
#include <thread>

#include <frazil/error.h>

#include "server/http_client.h"
#include "server/json_text.h"

namespace frazil::server {
namespace {

constexpr std::size_t kMostWaiting = 10'000, kMostTogether = 200;
constexpr std::chrono::seconds kPatience{5};

std::string random_hex(std::size_t digits) {
  thread_local std::mt19937_64 random(std::random_device{}());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < digits; ++i) text += kDigits[random() % kDigits.size()];
  return text;
}

/// Of "00-TRACE-PARENT-FLAGS"; fresh ones where the caller has none.
struct TraceContext {
  explicit TraceContext(std::string_view text) {
    constexpr std::size_t kSize = 55, kTraceAt = 3, kTrace = 32, kParentAt = 36, kParent = 16;
    const bool given = text.size() >= kSize && text[2] == '-' && text[kParentAt - 1] == '-';
    trace = given ? std::string(text.substr(kTraceAt, kTrace)) : random_hex(kTrace);
    if (given) parent = text.substr(kParentAt, kParent);
    span = random_hex(kParent);
  }
  std::string trace, parent, span;
};

struct Span {
  const TraceContext& context;
  std::string_view id, parent, name;
  std::int64_t begin_ns, time_ns;
};

void append_attribute(std::string& json, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  if (json.back() != '[') json += ',';
  json += R"({"key":)";
  append_json(json, key);
  json += R"(,"value":{"stringValue":)";
  append_json(json, value);
  json += "}}";
}

/// Up to its attributes, which are left open.
void begin_span(std::string& json, const Span& span) {
  json += R"({"traceId":")" + span.context.trace + R"(","spanId":")";
  json += span.id;
  if (!span.parent.empty()) (json += R"(","parentSpanId":")") += span.parent;
  json += R"(","name":)";
  append_json(json, span.name);
  json += R"(,"kind":2,"startTimeUnixNano":")" + std::to_string(span.begin_ns) + R"(","endTimeUnixNano":")" +
          std::to_string(span.begin_ns + span.time_ns) + R"(","attributes":[)";
}

std::int64_t nanoseconds(Clock::duration time) { return std::chrono::nanoseconds(time).count(); }

}  // namespace

void append_spans(std::string& json, const Journey& journey) {
  const TraceContext context(journey.trace);
  begin_span(json, {.context = context,
                    .id = context.span,
                    .parent = context.parent,
                    .name = "infer " + journey.model,
                    .begin_ns = journey.began_ns,
                    .time_ns = nanoseconds(journey.time)});
  append_attribute(json, "frazil.model", journey.model);
  append_attribute(json, "frazil.version", journey.version);
  append_attribute(json, "frazil.digest", journey.digest);
  append_attribute(json, "frazil.request_id", journey.id);
  if (journey.parts > 0) {
    append_attribute(json, "frazil.parts", std::to_string(journey.parts));
    append_attribute(json, "frazil.first_part_ns", std::to_string(nanoseconds(journey.first_part)));
  }
  json += "]";
  if (journey.status != Http::ok) {
    json += R"(,"status":{"code":2,"message":)";
    append_json(json, journey.error);
    json += '}';
  }
  json += '}';
  for (const PathRecord::Step& step : journey.steps) {
    json += ',';
    const std::string id = random_hex(16), name = step.kind + " " + (step.node.empty() ? step.model : step.node);
    begin_span(json, {.context = context,
                      .id = id,
                      .parent = context.span,
                      .name = name,
                      .begin_ns = journey.began_ns + nanoseconds(step.begin),
                      .time_ns = nanoseconds(step.time)});
    append_attribute(json, "frazil.model", step.model);
    append_attribute(json, "frazil.version", step.version);
    append_attribute(json, "frazil.branch", step.taken);
    append_attribute(json, "frazil.reason", step.why);
    json += "]}";
  }
}

struct Otlp::Impl {
  explicit Impl(HttpUrl url) : client(std::move(url)) {}

  HttpClient client;
  std::mutex mutex;
  std::condition_variable come;
  std::deque<std::shared_ptr<const Journey>> waiting;
  bool ending = false;
  std::atomic<std::uint64_t> dropped = 0;
  std::thread thread;

  void run() {
    for (;;) {
      std::vector<std::shared_ptr<const Journey>> group;
      {
        std::unique_lock lock(mutex);
        come.wait(lock, [&] { return ending || !waiting.empty(); });
        if (waiting.empty()) return;
        while (!waiting.empty() && group.size() < kMostTogether) {
          group.push_back(std::move(waiting.front()));
          waiting.pop_front();
        }
      }
      if (!post(group)) dropped += group.size();
    }
  }

  bool post(const std::vector<std::shared_ptr<const Journey>>& group) try {
    std::string json =
        R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"frazil"}}]},)"
        R"("scopeSpans":[{"scope":{"name":"frazil"},"spans":[)";
    append_list(json, group, [&](const auto& journey) { append_spans(json, *journey); });
    json += "]}]}]}";
    return client.post_and_wait({.body = std::move(json)}, Clock::now() + kPatience).status / 100 == 2;
  } catch (const std::exception&) {
    return false;
  }
};

Otlp::Otlp(const std::string& collector) {
  const std::size_t colon = collector.rfind(':');
  try {
    if (colon == std::string::npos) throw std::invalid_argument("");
    impl_ = std::make_unique<Impl>(HttpUrl::parse("http://" + collector + "/v1/traces"));
  } catch (const std::invalid_argument&) {
    throw api::Error(api::Code::bad_input, "paths.otlp: expected HOST:PORT, got '" + collector + "'");
  }
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

Otlp::~Otlp() {
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->ending = true;
  }
  impl_->come.notify_one();
  impl_->thread.join();
}

void Otlp::send(std::shared_ptr<const Journey> journey) {
  {
    const std::scoped_lock lock(impl_->mutex);
    if (impl_->waiting.size() >= kMostWaiting) return void(++impl_->dropped);
    impl_->waiting.push_back(std::move(journey));
  }
  impl_->come.notify_one();
}

std::uint64_t Otlp::dropped() const { return impl_->dropped; }

}  // namespace frazil::server
