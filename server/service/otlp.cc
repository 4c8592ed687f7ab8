#include "server/service/otlp.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <random>
#include <thread>

#include <frazil/error.h>

#include "server/core/json_text.h"
#include "server/core/url_parts.h"
#include "server/net/http_client.h"

namespace frazil::server {
namespace {

constexpr std::size_t kMaxWaiting = 10'000, kMostTogether = 200;
constexpr std::chrono::seconds kPatience{5};

std::string random_hex(std::size_t digits) {
  thread_local std::mt19937_64 random(std::random_device{}());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < digits; ++i) text += kDigits[random() % kDigits.size()];
  return text;
}

bool is_id(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         text.find_first_not_of('0') != std::string_view::npos;
}

/// The ids of a request in its trace, from W3C's `traceparent`: "00-TRACE-PARENT-FLAGS" in lower-case hexadecimal
/// digits. Creates new ids for a text of another form.
struct TraceContext {
  explicit TraceContext(std::string_view text) {
    constexpr std::size_t kSize = 55, kTraceAt = 3, kTrace = 32, kParentAt = 36, kParent = 16;
    const bool given = text.size() == kSize && text[2] == '-' && text[kParentAt - 1] == '-' &&
                       text[kParentAt + kParent] == '-' && is_id(text.substr(kTraceAt, kTrace)) &&
                       is_id(text.substr(kParentAt, kParent));
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

void write_attribute(JsonText& json, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  json.begin_object();
  json.member("key", key);
  json.key("value");
  json.begin_object();
  json.member("stringValue", value);
  json.end_object();
  json.end_object();
}

/// Writes a span up to its attributes, an array that stays open.
void begin_span(JsonText& json, const Span& span) {
  constexpr int kServer = 2;
  json.begin_object();
  json.member("traceId", span.context.trace);
  json.member("spanId", span.id);
  if (!span.parent.empty()) json.member("parentSpanId", span.parent);
  json.member("name", span.name);
  json.member("kind", kServer);
  json.member("startTimeUnixNano", std::to_string(span.begin_ns));
  json.member("endTimeUnixNano", std::to_string(span.begin_ns + span.time_ns));
  json.key("attributes");
  json.begin_array();
}

void write_step_span(JsonText& json, const PathRecord::Step& step, const TraceContext& context, std::int64_t began_ns) {
  const std::string id = random_hex(16), name = step.kind + " " + (step.node.empty() ? step.model : step.node);
  begin_span(json, {.context = context,
                    .id = id,
                    .parent = context.span,
                    .name = name,
                    .begin_ns = began_ns + std::chrono::nanoseconds(step.begin).count(),
                    .time_ns = std::chrono::nanoseconds(step.time).count()});
  write_attribute(json, "frazil.model", step.model);
  write_attribute(json, "frazil.version", step.version);
  write_attribute(json, "frazil.branch", step.taken);
  write_attribute(json, "frazil.reason", step.why);
  json.end_array();
  json.end_object();
}

std::int64_t nanoseconds(Clock::duration time) { return std::chrono::nanoseconds(time).count(); }

void write_spans(JsonText& json, const RequestRecord& record) {
  const TraceContext context(record.trace);
  begin_span(json, {.context = context,
                    .id = context.span,
                    .parent = context.parent,
                    .name = "infer " + record.model,
                    .begin_ns = record.began_ns,
                    .time_ns = nanoseconds(record.time)});
  write_attribute(json, "frazil.model", record.model);
  write_attribute(json, "frazil.version", record.version);
  write_attribute(json, "frazil.digest", record.digest);
  write_attribute(json, "frazil.request_id", record.id);
  if (record.parts > 0) {
    write_attribute(json, "frazil.parts", std::to_string(record.parts));
    write_attribute(json, "frazil.first_part_ns", std::to_string(nanoseconds(record.first_part)));
  }
  json.end_array();
  if (record.status != Http::ok) {
    constexpr int kError = 2;
    json.key("status");
    json.begin_object();
    json.member("code", kError);
    json.member("message", record.error);
    json.end_object();
  }
  json.end_object();
  for (const PathRecord::Step& step : record.steps) write_step_span(json, step, context, record.began_ns);
}

}  // namespace

std::string spans_body(std::span<const std::shared_ptr<const RequestRecord>> records) {
  JsonText json;
  json.begin_object();
  json.key("resourceSpans");
  json.begin_array();
  json.begin_object();
  json.key("resource");
  json.begin_object();
  json.key("attributes");
  json.begin_array();
  write_attribute(json, "service.name", "frazil");
  json.end_array();
  json.end_object();
  json.key("scopeSpans");
  json.begin_array();
  json.begin_object();
  json.key("scope");
  json.begin_object();
  json.member("name", "frazil");
  json.end_object();
  json.key("spans");
  json.array(records, [&](const auto& record) { write_spans(json, *record); });
  json.end_object();
  json.end_array();
  json.end_object();
  json.end_array();
  json.end_object();
  return json.take();
}

struct Otlp::Impl {
  Impl(HttpUrl url, const TlsFiles& tls, MayUse may_use_)
      : may_use(std::move(may_use_)), client(std::move(url), {.tls = tls}) {}

  const MayUse may_use;
  HttpClient client;
  std::mutex mutex;
  std::condition_variable come;
  std::deque<std::shared_ptr<const RequestRecord>> waiting;
  bool ending = false;
  std::atomic<std::uint64_t> dropped = 0;
  std::thread thread;

  void run() {
    for (;;) {
      std::vector<std::shared_ptr<const RequestRecord>> group;
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

  bool post(const std::vector<std::shared_ptr<const RequestRecord>>& group) try {
    return client.post_and_wait({.body = spans_body(group), .may_use = may_use}, Clock::now() + kPatience).status /
               100 ==
           2;
  } catch (const std::exception&) {
    return false;
  }
};

Otlp::Otlp(const std::string& collector, const TlsFiles& tls, std::shared_ptr<govern::Governor> governor) {
  std::string text = collector.contains("://") ? collector : "http://" + collector;
  const auto parts = UrlParts::parse(text);
  if (parts && parts->path == "/" && !text.contains('?')) text += text.ends_with('/') ? "v1/traces" : "/v1/traces";
  try {
    if (!parts || parts->port.empty())
      throw std::invalid_argument("expected HOST:PORT, http://HOST:PORT or https://...");
    const ExternalGate gate(
        std::move(governor),
        {.kind = "http", .host = parts->host, .port = std::stoi(parts->port), .path = UrlParts::parse(text)->path});
    impl_ = std::make_unique<Impl>(HttpUrl::parse(text), tls, without_tenant(gate));
  } catch (const std::invalid_argument& error) {
    throw api::Error(api::Code::bad_input, std::string("paths.otlp: ") + error.what());
  } catch (const api::Error& error) {
    const bool of_files = error.code() == api::Code::bad_input;
    throw api::Error(error.code(), std::string(of_files ? "paths.otlp_tls." : "paths.otlp: ") + error.what());
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

void Otlp::send(std::shared_ptr<const RequestRecord> record) {
  {
    const std::scoped_lock lock(impl_->mutex);
    if (impl_->waiting.size() >= kMaxWaiting) return void(++impl_->dropped);
    impl_->waiting.push_back(std::move(record));
  }
  impl_->come.notify_one();
}

std::uint64_t Otlp::dropped() const { return impl_->dropped; }

}  // namespace frazil::server
