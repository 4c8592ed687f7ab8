// Personal data: 1,000 markers in everything that a request may contain, searched in everything that leaves the server
// except declared outputs to the client that sent them.
#include <array>
#include <mutex>

#include <gmock/gmock.h>

#include "govern/audit/audit_log.h"
#include "server/grpc_client.h"
#include "server/grpc_encode.h"
#include "server/host/host_node.h"
#include "server/http_test_client.h"
#include "server/markers.h"
#include "server/numpy.h"
#include "server/other_server.h"
#include "server/running.h"
#include "server/server.h"

namespace frazil::test {
namespace {

using server::HostCall;

constexpr const char* kPick = "graph g(%x: f32[N,2], %i: i64[1]) { %y = Gather(%x, %i) {axis = 0} return y = %y }";
constexpr const char* kTextModel = "graph g(%s: string[N]) { %y = Identity(%s) return y = %y }";

/// Registers a function that throws a text with a value of its input.
void register_leak() {
  static const bool once = [] {
    server::register_host_function("personal_test_leak",
                                   {.inputs = {{"x", "f32[N,2]"}}, .outputs = {{"y", "f32[N,2]"}}},
                                   [](const HostCall& call) -> std::vector<api::Array> {
                                     throw std::runtime_error("bad value " + std::to_string(call.inputs[0].number(0)));
                                   });
    return true;
  }();
  (void)once;
}

/// A server with all observers on, and all that they have seen.
class Observed {
 public:
  explicit Observed(bool governed)
      : stub_([this](const std::string& request) {
          const std::scoped_lock lock(mutex_);
          seen_["spans"] += request;
          return answered("{}");
        }),
        other_([](const std::string& request) {
          return answered(R"({"error":"bad input )" + request.substr(request.find("\r\n\r\n") + 4) + "\"}",
                          "400 Bad Request");
        }) {
    register_leak();
    write_models();
    testing::internal::CaptureStderr();
    running_.emplace(service_options(governed), server_options());
  }

  std::uint16_t http() const { return running_->ports.http; }
  std::uint16_t grpc() const { return running_->ports.grpc; }
  std::uint16_t metrics() const { return running_->ports.metrics; }
  /// Adds what a client has received and must not be there.
  void add(const std::string& outlet, std::string_view text) {
    const std::scoped_lock lock(mutex_);
    (seen_[outlet] += text) += '\n';
  }

  /// Ends the server and returns the texts by outlet.
  std::map<std::string, std::string> end() {
    running_->end();
    running_.reset();
    access_.reset();
    exposures_.reset();
    audit_->close();
    seen_["access"] += content_of(logs_ / "access");
    seen_["exposures"] = content_of(logs_ / "exposures");
    for (const auto& file : std::filesystem::recursive_directory_iterator(logs_ / "audit")) {
      if (file.is_regular_file()) seen_["audit"] += content_of(file.path());
    }
    seen_["stderr"] = testing::internal::GetCapturedStderr();
    return seen_;
  }

 private:
  void write_models() const {
    for (const auto& [name, text] : {std::pair("double", kDouble),
                                     {"triple", kTriple},
                                     {"fails", kFails},
                                     {"pick", kPick},
                                     {"words", kTextModel},
                                     {"talk", kTalk}}) {
      folder_.add(name, text);
    }
    const std::string x = "inputs: {x: 'f32[N,2]'}\nsteps:\n";
    folder_.write(
        "route.yaml",
        x + "  - name: out\n    switch:\n"
            "      - {name: small, when: \"param('tier', 0) < 5 and max(x) < 10\", model: double, inputs: {x: x}}\n"
            "      - {name: large, model: triple, inputs: {x: x}}\n"
            "  - name: arm\n    split:\n      by: param('user', 'nobody')\n      arms:\n"
            "        - {name: a, share: 0.5, model: double, inputs: {x: out.y}}\n"
            "        - {name: b, share: 0.5, model: triple, inputs: {x: out.y}}\noutputs: {y: arm.y}\n");
    folder_.write("strict.yaml", x + "  - name: out\n    switch:\n"
                                     "      - {name: none, when: max(x) < 0, model: double, inputs: {x: x}}\n"
                                     "outputs: {y: out.y}\n");
    const std::string code = "code: {function: personal_test_leak, inputs: {x: x}}";
    folder_.write("leak.yaml", x + "  - {name: out, " + code + "}\noutputs: {y: out.y}\n");
    folder_.write("again.yaml", x + "  - name: out\n    fallback:\n      - {name: first, steps: [{name: bad, " + code +
                                    "}], results: {y: bad.y}}\n"
                                    "      - {name: second, model: double, inputs: {x: x}}\noutputs: {y: out.y}\n");
    folder_.write("http.yaml", x + "  - {name: out, http: {url: '" + other_.url() +
                                   "', inputs: {x: x}, outputs: {y: 'f32[N,2]'}}}\noutputs: {y: out.y}\n");
    if (python().empty()) return;
    folder_.write("print.py",
                  "import sys\ndef run(x):\n  print('got', float(x[0, 0]))\n"
                  "  print('got', float(x[0, 1]), file=sys.stderr)\n  raise ValueError(float(x[0, 0]))\n");
    folder_.write("python.yaml", x + "  - {name: out, code: {python: print.py, interpreter: " + python() +
                                     ", function: run, inputs: {x: x}, "
                                     "outputs: {y: 'f32[N,2]'}}}\noutputs: {y: out.y}\n");
  }

  server::ServiceOptions service_options(bool governed) {
    server::ServiceOptions options = options_of(folder_);
    if (governed) options.config.governance.personal = {"*"};
    options.config.paths = {.ring = 10'000, .inputs = true, .otlp = stub_.address()};
    options.config.models["talk"].sequences.states = {{.input = "said", .output = "all"}};
    options.notify = [this](const server::Notice& notice) { add("log", notice.subject + ": " + notice.text); };
    exposures_ = options.exposures =
        std::make_shared<server::ExposureLog>(server::ExposureLog::Options{.file = logs_ / "exposures", .key = ""});
    audit_ = options.audit = std::make_shared<govern::AuditLog>(
        govern::AuditOptions{.folder = logs_ / "audit",
                             .origin = "example.org/personal",
                             .key = govern::SigningKey::generate(govern::KeyKind::ed25519)});
    options.log->set_level("verbose");
    return options;
  }
  server::ServerOptions server_options() {
    access_ = std::make_unique<server::AccessLog>(
        server::AccessLog::Options{.file = logs_ / "access",
                                   .format = server::AccessFormat::json,
                                   .to_log = [this](const std::string& line) { add("log", line); },
                                   .settings = std::make_shared<server::LogSettings>()});
    return {.access = access_.get()};
  }

  std::mutex mutex_;
  std::map<std::string, std::string> seen_;
  OtherServer stub_, other_;
  Folder folder_;
  TempFolder logs_;
  std::unique_ptr<server::AccessLog> access_;
  std::shared_ptr<server::ExposureLog> exposures_;
  std::shared_ptr<govern::AuditLog> audit_;
  std::optional<RunningServer> running_;
};

std::string text_of_float(float value) {
  char digits[64];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

/// Sends requests with markers. Error answers are among what is searched; other answers are for the client.
class MarkedRequests {
 public:
  MarkedRequests(Observed& to, Markers& markers)
      : to_(to), markers_(markers), http_(std::in_place, to.http()), grpc_(to.grpc()) {}

  /// Sends one request of each kind.
  void round() {
    valid();
    faulty_bodies();
    faulty_names();
    faulty_runs();
    over_grpc();
  }

  void over_python() {
    if (!python().empty()) infer("python", floats(), 500);
  }

 private:
  std::string floats() {
    return R"({"name":"x","datatype":"FP32","shape":[1,2],"data":[)" + text_of_float(markers_.real()) + "," +
           text_of_float(markers_.real()) + "]}";
  }
  void send(std::string_view path, const std::string& body, unsigned status, const std::string& headers = "") {
    http_->post(path, body, headers);
    const auto answer = http_->receive();
    EXPECT_EQ(answer.status, status) << path << ": " << answer.body;
    if (status != 200) to_.add("REST errors", answer.body);
  }
  void infer(const std::string& model, const std::string& inputs, unsigned status, const std::string& more = "",
             const std::string& headers = "") {
    send("/v2/models/" + model + "/infer", "{" + more + R"("inputs":[)" + inputs + "]}", status, headers);
  }

  void valid() {
    const std::string trace = "traceparent: 00-" + markers_.hex(32) + "-" + markers_.hex(16) + "-01\r\n";
    infer("route", floats(), 200,
          R"("id":")" + markers_.text() + R"(","parameters":{"user":")" + markers_.text() + R"(","tier":)" +
              std::to_string(markers_.whole()) + "},",
          trace);
    infer("words", R"({"name":"s","datatype":"BYTES","shape":[1],"data":[")" + markers_.text() + R"("]})", 200,
          R"("parameters":{")" + markers_.text() + R"(":")" + markers_.text() + R"("},)");
    infer("talk", R"({"name":"x","datatype":"FP32","shape":[1],"data":[)" + text_of_float(markers_.real()) + "]}", 200,
          "", "X-Session-Id: " + markers_.text() + "\r\n");
    infer("again", floats(), 200);
  }

  void faulty_bodies() {
    infer("double", R"({"name":"x","datatype":"FP32","shape":[1,2],"data":[1,")" + markers_.text() + R"("]})", 400);
    infer("double", R"({"name":"x","datatype":")" + markers_.text() + R"(","shape":[1,2],"data":[1,2]})", 400);
    infer("pick", R"({"name":"i","datatype":"INT8","shape":[1],"data":[)" + std::to_string(markers_.whole()) + "]}",
          400);
    send("/v2/models/double/infer", R"({"inputs": )" + markers_.text() + "}", 400);
    send("/v2/models/double/infer", R"({"inputs":[{"name":"x)" + markers_.text(), 400);
    infer("double", floats(), 400, R"("parameters":{"timeout":")" + markers_.text() + R"("},)");
    infer("route", floats(), 400, R"("parameters":{"tier":")" + markers_.text() + R"("},)");
  }

  void faulty_names() {
    infer("double", R"({"name":")" + markers_.text() + R"(","datatype":"FP32","shape":[1,2],"data":[1,2]})", 400);
    infer("double", floats(), 400, R"("outputs":[{"name":")" + markers_.text() + R"("}],)");
    infer(markers_.text(), floats(), 404);
    infer("talk", R"({"name":"x","datatype":"FP32","shape":[1],"data":[1]})", 400,
          R"("parameters":{"sequence_id":")" + markers_.text() + R"("},)");
    send("/" + markers_.text() + "?q=" + markers_.text(), "", 404);
    send("/v2/models/double/versions/" + std::to_string(markers_.whole()) + "/infer", "{}", 404);
    http_->get("/v2/paths?" + markers_.text() + "=" + markers_.text());
    to_.add("REST errors", http_->receive().body);
    send("/v2/models/double/infer", "{}", 415, "Content-Encoding: " + markers_.text() + "\r\n");
    http_.emplace(to_.http());
  }

  void faulty_runs() {
    const std::string index =
        R"(,{"name":"i","datatype":"INT64","shape":[1],"data":[)" + std::to_string(markers_.whole()) + "]}";
    infer("pick", floats() + index, 400);
    infer("strict", floats(), 400);
    infer("leak", floats(), 500);
    infer("http", floats(), 400);
    infer("fails", floats(), 400, R"("id":")" + markers_.text() + R"(",)");
  }

  void call(std::string_view method, const std::string& message, const HeaderList& headers = {}) {
    const auto& answer = grpc_.wait(grpc_.call(method, message, headers));
    EXPECT_TRUE(answer.closed);
    const bool failed = answer.code() != "0";
    if (failed || method == "ModelStreamInfer") to_.add("gRPC errors", answer.text() + answer.data);
  }
  /// An infer request whose parts are fields of ModelInferRequest.
  static std::string request(const std::string& model, const std::string& more) { return field(1, model) + more; }

  void over_grpc() {
    const auto two = [&] {
      const float a = markers_.real(), b = markers_.real();
      return field(7, raw({a, b}));
    };
    const std::string x = input("x", "FP32", {1, 2});
    call("ModelInfer",
         request("route", field(3, markers_.text()) + parameter(4, "user", field(3, markers_.text())) + x + two()),
         {{"x-session-id", markers_.text()}});
    call("ModelInfer", request("words", input("s", "BYTES", {1}, field(5, field(8, markers_.text())))));
    call("ModelInfer", request("fails", field(3, markers_.text()) + x + two()));
    call("ModelInfer", request(markers_.text(), x + two()));
    call("ModelInfer", request("double", field(2, markers_.text()) + x + two()));
    call("ModelInfer", request("double", input(markers_.text(), "FP32", {1, 2}) + two()));
    call("ModelInfer", request("double", input("x", markers_.text(), {1, 2}) + two()));
    call("ModelInfer", request("pick", input("i", "INT8", {1}, field(5, integers(2, {markers_.whole()})))));
    call("ModelInfer", request("pick", x + input("i", "INT64", {1}) + two() + field(7, raw({markers_.whole()}))));
    call("ModelInfer", request("leak", x + two()));
    call("ModelStreamInfer", request("double", input(markers_.text(), "FP32", {1, 2}) + two()));
    call(markers_.text(), "");
  }

  Observed& to_;
  Markers& markers_;
  std::optional<HttpClient> http_;
  BasicGrpcClient<> grpc_;
};

/// Reads what operators see of a server.
void observe_as_operator(Observed& to) {
  HttpClient client(to.http());
  const auto get = [&](const char* outlet, const std::string& path) {
    client.get(path);
    to.add(outlet, client.receive().body);
  };
  get("paths", "/v2/paths?limit=1000");
  get("statistics", "/v2/models/stats");
  get("index", "/v2/models/route/splits");
  for (int number = 1; number < 40; ++number) {
    client.post("/v2/paths/" + std::to_string(number) + "/replay", "{}");
    to.add("replays", client.receive().body);
  }
  TextClient live(to.http());
  live.get("/v2/live/events?every_ms=100");
  (void)live.up_to("data: ");
  to.add("live view", live.up_to("\n\n"));
  HttpClient metrics(to.metrics());
  metrics.get("/metrics");
  to.add("metrics", metrics.receive().body);
}

std::map<std::string, std::string> texts_of(bool governed, int rounds, Markers& markers) {
  Observed to(governed);
  MarkedRequests requests(to, markers);
  for (int i = 0; i < rounds; ++i) requests.round();
  requests.over_python();
  observe_as_operator(to);
  return to.end();
}

/// Returns the numbers of markers by outlet, without outlets that have none, and a place of one.
std::map<std::string, std::string> found_by_outlet(const std::map<std::string, std::string>& texts,
                                                   const Markers& markers) {
  constexpr std::size_t kShown = 200;
  std::map<std::string, std::string> found;
  for (const auto& [outlet, text] : texts) {
    const auto there = markers.found_in(text);
    if (there.empty()) continue;
    const std::size_t at = std::min(text.find(*there.begin()), text.size());
    const std::size_t from = at - std::min(at, kShown);
    found[outlet] = std::to_string(there.size()) + " markers: ..." + text.substr(from, 2 * kShown);
  }
  return found;
}

TEST(PersonalData, LeavesByNoOutlet) {
  Markers markers(45);
  const auto texts = texts_of(true, 19, markers);
  EXPECT_GE(markers.count(), 1000U);
  EXPECT_THAT(found_by_outlet(texts, markers), testing::IsEmpty());
  for (const char* outlet : {"spans", "paths", "access", "exposures", "audit", "log", "live view", "metrics", "replays",
                             "REST errors", "gRPC errors", "statistics"}) {
    EXPECT_GT(texts.at(outlet).size(), 100U) << outlet;
  }
}

/// The search finds markers where they are: without labels, each of these outlets shows some.
TEST(PersonalData, IsFoundWithoutLabels) {
  Markers markers(46);
  const auto found = found_by_outlet(texts_of(false, 1, markers), markers);
  for (const char* outlet :
       {"spans", "paths", "access", "exposures", "log", "replays", "REST errors", "gRPC errors", "stderr"}) {
    EXPECT_TRUE(found.contains(outlet) || (outlet == std::string_view("stderr") && python().empty())) << outlet;
  }
}

}  // namespace
}  // namespace frazil::test
