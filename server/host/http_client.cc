#include "server/host/http_client.h"

#include <cmath>
#include <future>
#include <limits>
#include <optional>
#include <thread>

#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <simdjson.h>

#include "server/config/yaml.h"
#include "server/core/datatype.h"
#include "server/core/json_text.h"
#include "server/host/host_node.h"
#include "server/request/infer_message.h"
#include "server/request/json_tensor.h"

namespace frazil::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using beast::error_code;

constexpr std::size_t kMaxIdleHttp = 64;

HttpFault left() { return {HttpFault::Kind::cancelled, "the caller has disconnected"}; }
HttpFault late() { return {HttpFault::Kind::late, "the other server does not answer in time"}; }

}  // namespace

HttpUrl HttpUrl::parse(const std::string& text) {
  constexpr std::string_view kScheme = "http://";
  const bool http = text.starts_with(kScheme);
  const std::string rest = http ? text.substr(kScheme.size()) : "";
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  HttpUrl url{.host = rest.substr(0, slash), .port = "80", .target = rest.substr(slash)};
  const std::size_t colon = url.host.rfind(':');
  if (colon != std::string::npos && url.host.back() != ']') {
    url.port = url.host.substr(colon + 1);
    url.host.resize(colon);
  }
  if (url.host.size() > 2 && url.host.front() == '[' && url.host.back() == ']') {
    url.host = url.host.substr(1, url.host.size() - 2);
  }
  if (url.target.empty()) url.target = "/";
  const auto is_odd = [](char c) { return c <= ' ' || c == '\x7f'; };
  const bool brackets = url.host.find_first_of("[]") != std::string::npos;
  const auto port = whole_from(url.port);
  if (!http || url.host.empty() || brackets || !port || *port == 0 || *port > 65535 ||
      std::ranges::any_of(text, is_odd)) {
    throw std::invalid_argument("expected http://HOST:PORT/PATH, got '" + text + "'");
  }
  return url;
}

struct HttpClient::Impl {
  using Socket = std::unique_ptr<tcp::socket>;

  Impl(HttpUrl url_, std::size_t max_bytes_) : url(std::move(url_)), max_bytes(max_bytes_) {
    thread = std::thread([this] { context.run(); });
  }
  ~Impl() {
    context.stop();
    thread.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Called on the client's thread.
  Socket take() {
    if (idle.empty()) return nullptr;
    Socket socket = std::move(idle.back());
    idle.pop_back();
    return socket;
  }
  void give(Socket socket) {
    if (idle.size() < kMaxIdleHttp) idle.push_back(std::move(socket));
  }

  class Running;

  const HttpUrl url;
  const std::size_t max_bytes;
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard{context.get_executor()};
  std::vector<Socket> idle;
  std::thread thread;
};

/// Runs on the client's thread, except start() and cancel().
class HttpClient::Impl::Running : public Exchange, public std::enable_shared_from_this<Running> {
 public:
  Running(Impl& client, ClientRequest request, Clock::time_point until, Done done)
      : client_(client),
        request_(http::verb::post, client.url.target, 11, std::move(request.body)),
        until_(until),
        done_(std::move(done)),
        timer_(client.context),
        resolver_(client.context) {
    const std::string& host = client.url.host;
    const bool is_v6 = host.find(':') != std::string::npos;
    request_.set(http::field::host, (is_v6 ? "[" + host + "]" : host) + ":" + client.url.port);
    request_.set(http::field::content_type, request.type);
    for (const auto& [name, value] : request.headers) request_.set(name, value);
    request_.prepare_payload();
  }

  void start() override {
    asio::post(client_.context, [self = shared_from_this()] { self->begin(); });
  }
  void cancel() override {
    asio::post(client_.context, [self = shared_from_this()] {
      self->cancelled_ = true;
      if (self->begun_) self->end(std::unexpected(left()));
    });
  }

 private:
  void begin() {
    begun_ = true;
    if (cancelled_) return end(std::unexpected(left()));
    timer_.expires_at(until_);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->end(std::unexpected(late()));
    });
    socket_ = client_.take();
    reused_ = socket_ != nullptr;
    reused_ ? write() : connect();
  }

  /// Returns a handler that calls `next` after success and fail() after an error.
  template <class F>
  auto then(HttpFault::Kind kind, const F& next) {
    return [self = shared_from_this(), kind, next](error_code error, auto&&... result) {
      if (self->done_ == nullptr) return;
      error ? self->fail(kind, error) : next(*self, result...);
    };
  }

  void connect() {
    reused_ = false;
    socket_ = std::make_unique<tcp::socket>(client_.context);
    const auto connected = then(HttpFault::Kind::refused, [](Running& self, auto&&...) {
      error_code ignored;
      self.socket_->set_option(tcp::no_delay(true), ignored);  // NOLINT(bugprone-unused-return-value): slower without
      self.write();
    });
    error_code error;
    const auto address = asio::ip::make_address(client_.url.host, error);
    if (!error) {
      const auto port = static_cast<std::uint16_t>(std::stoul(client_.url.port));
      return socket_->async_connect(tcp::endpoint(address, port), connected);
    }
    resolver_.async_resolve(client_.url.host, client_.url.port,
                            then(HttpFault::Kind::refused, [connected](Running& self, const auto& found) {
                              asio::async_connect(*self.socket_, found, connected);
                            }));
  }

  void write() {
    http::async_write(*socket_, request_, then(HttpFault::Kind::broken, [](Running& self, auto&&...) { self.read(); }));
  }

  void read() {
    parser_.emplace();
    parser_->body_limit(client_.max_bytes);
    buffer_.clear();
    http::async_read(*socket_, buffer_, *parser_,
                     then(HttpFault::Kind::broken, [](Running& self, auto&&...) { self.answer(); }));
  }

  void answer() {
    const bool more = parser_->get().keep_alive() && buffer_.size() == 0;
    HttpAnswer answer{.status = parser_->get().result_int(), .body = std::move(parser_->get().body())};
    if (more) client_.give(std::move(socket_));
    end(std::move(answer));
  }

  void fail(HttpFault::Kind kind, error_code error) {
    const bool begun = parser_ && parser_->got_some();
    if (reused_ && kind == HttpFault::Kind::broken && !begun) return connect();
    if (error.category() == make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      return end(std::unexpected(
          HttpFault(HttpFault::Kind::wrong, "the other server's answer is no HTTP: " + error.message())));
    }
    const char* const what = kind == HttpFault::Kind::refused ? "the other server cannot be reached: "
                                                              : "the connection to the other server has ended: ";
    end(std::unexpected(HttpFault(kind, what + error.message())));
  }

  void end(std::expected<HttpAnswer, HttpFault> result) {
    if (done_ == nullptr) return;
    timer_.cancel();
    resolver_.cancel();
    error_code ignored;
    if (socket_ != nullptr) socket_->close(ignored);  // NOLINT(bugprone-unused-return-value): it is given up anyway
    std::exchange(done_, nullptr)(std::move(result));
  }

  Impl& client_;
  http::request<http::string_body> request_;
  Clock::time_point until_;
  Done done_;  ///< null after the end
  asio::steady_timer timer_;
  tcp::resolver resolver_;
  Socket socket_;
  bool begun_ = false, cancelled_ = false, reused_ = false;
  beast::flat_buffer buffer_;
  std::optional<http::response_parser<http::string_body>> parser_;
};

HttpClient::HttpClient(HttpUrl url, std::size_t max_bytes) : impl_(std::make_unique<Impl>(std::move(url), max_bytes)) {}
HttpClient::~HttpClient() = default;

std::shared_ptr<HttpClient::Exchange> HttpClient::post(ClientRequest request, Clock::time_point until, Done done) {
  return std::make_shared<Impl::Running>(*impl_, std::move(request), until, std::move(done));
}

HttpAnswer HttpClient::post_and_wait(ClientRequest request, Clock::time_point until) {
  const auto promise = std::make_shared<std::promise<std::expected<HttpAnswer, HttpFault>>>();
  auto result = promise->get_future();
  post(std::move(request), until, [promise](auto answer) { promise->set_value(std::move(answer)); })->start();
  auto answer = result.get();
  if (!answer) throw HttpFault(answer.error());
  return std::move(*answer);
}

// ---- inference ----

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

namespace {

using api::Array;
using api::Dtype;

struct HttpParts {
  HttpUrl url;
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
      : HostNode(std::move(name), "http", scope),
        parts_(std::move(parts)),
        client_(parts_.url),
        workers_guard_(std::make_shared<WorkersGuard>(scope.workers)) {
    for (const auto& output : parts_.outputs) wanted_.push_back(output.first);
  }

 protected:
  void start(Flow flow, Completion then) const override {
    const Clock::time_point until = limit_of(flow, parts_.time_out), began = Clock::now();
    std::vector<NamedArray> inputs;
    for (const Argument& input : parts_.inputs) inputs.emplace_back(input.name, (*flow.values)[input.value.slot]);
    ClientRequest request{.body = inference_body(inputs, wanted_)};
    if (!flow.trace.empty()) request.headers.emplace_back("traceparent", flow.trace);
    const auto waiting = std::make_shared<Waiting>(std::move(flow), std::move(then), began);
    const auto exchange =
        client_.post(std::move(request), until, [this, hold = workers_guard_, waiting = waiting](auto result) mutable {
          hold->post_result(
              [this, waiting = std::move(waiting), result = std::move(result)] { end(*waiting, result); });
        });
    waiting->hook.emplace(*waiting->flow.caller, [exchange] { exchange->cancel(); });
    workers_guard_->leave();
    exchange->start();
  }

 private:
  struct Waiting {
    Waiting(Flow flow_, Completion then_, Clock::time_point began_)
        : flow(std::move(flow_)), then(std::move(then_)), began(began_) {}
    Flow flow;
    Completion then;
    Clock::time_point began;
    std::optional<Caller::Hook> hook;  // last: it refers to the caller
  };

  void end(Waiting& waiting, const std::expected<HttpAnswer, HttpFault>& result) const {
    waiting.hook.reset();
    std::optional<Refusal> why;
    PathRecord::Step step{.taken = "answered"};
    try {
      set(result, waiting.flow);
    } catch (...) {
      why = refusal_for_caller();
      const bool of_request = waiting.flow.left() <= Clock::duration::zero() || waiting.flow.caller->disconnected();
      step.why = why->what();
      step.taken = "failed";
      if (parts_.otherwise && !of_request) {
        set_defaults(waiting.flow);
        step.taken = "defaults";
        why.reset();
      }
    }
    note(waiting.flow, std::move(step), waiting.began);
    waiting.then(std::move(why));
  }

  void set(const std::expected<HttpAnswer, HttpFault>& result, const Flow& flow) const {
    if (!result) throw Refusal(status_for_fault(result.error().kind()), result.error().what());
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
    set_results(parts_.outputs, parts_.inputs, std::move(values), flow);
  }

  /// Returns the results. Errors are logged only, as their text may quote the answer.
  static std::vector<NamedArray> results_in(const std::string& body) try {
    return inference_results(body);
  } catch (const Refusal& refusal) {
    throw ExternalFailure(refusal.status(), "the other server's answer does not have the protocol's form",
                          refusal.what());
  }

  void set_defaults(const Flow& flow) const {
    Extents extents;
    for (const Argument& input : parts_.inputs) extents.bind(input.value.type, (*flow.values)[input.value.slot]);
    for (const auto& [name, result] : parts_.outputs) {
      (*flow.values)[result.slot] = filled(result.type.dtype, extents.sizes_of(result.type), *parts_.otherwise);
    }
  }

  const HttpParts parts_;
  std::vector<std::string> wanted_;
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
  try {
    parts.url = HttpUrl::parse(node.at("url").name());
  } catch (const std::invalid_argument& error) {
    node.at("url").fail(error.what());
  }
  node.fields({{"url", kReadElsewhere},
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
  HostStep step{.results = parts.outputs};
  step.node = std::make_unique<HttpNode>(name, std::move(parts), scope);
  return step;
}

}  // namespace frazil::server
