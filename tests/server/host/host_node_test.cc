// Steps that ask other servers over HTTP, or run functions in C++ and Python.
#include "server/host/host_node.h"

#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include "server/asked.h"
#include "server/certificates.h"
#include "server/numpy.h"
#include "server/other_server.h"
#include "server/pipeline/pipeline.h"
#include "server/request/path_record.h"
#include "server/running.h"

namespace frazil::test {
namespace {

using std::literals::operator""ms;
using std::literals::operator""s;
using api::Array;
using server::Clock;
using server::Http;
using server::PathRecord;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kGood =
    answered(R"({"model_name":"m","outputs":[{"name":"z","datatype":"INT64","shape":[1],"data":[1]},)"
             R"({"name":"y","datatype":"FP32","shape":[1,2],"data":[[7,8.5]]}]})");

class HostSteps : public testing::Test {
 protected:
  /// A pipeline of one step 'out' with an output y.
  void serve(const std::string& step, const std::string& inputs = "{x: 'f32[N,2]'}") {
    folder_.write("p.yaml", "inputs: " + inputs + "\nsteps:\n  - {name: out, " + step + "}\noutputs: {y: out.y}\n");
    server::ServiceOptions options = options_of(folder_);
    options.workers = 2;
    options.notify = [this](const server::Notice& notice) {
      const std::scoped_lock lock(mutex_);
      logged_ = notice.subject + ": " + notice.text;
    };
    service_.emplace(options);
  }
  /// The last line of the log.
  std::string logged() {
    const std::scoped_lock lock(mutex_);
    return logged_;
  }
  void serve_http(const OtherServer& other, const std::string& more = "") {
    serve("http: {url: '" + other.url() + "', inputs: {x: x}, outputs: {y: {type: 'f32[N,2]'}}, timeout_ms: 300" +
          more + "}");
  }
  server::Outcome run(std::vector<server::NamedArray> inputs, std::optional<std::uint64_t> timeout_us = {}) {
    path_ = std::make_shared<PathRecord>(Clock::now());
    return ask(*service_,
               {.model = "p", .inputs = std::move(inputs), .timeout_us = timeout_us, .caller = caller_, .path = path_})
        .get();
  }
  server::Outcome run() { return run({{"x", row({1, 2})}}); }
  /// Status and reason of a refusal.
  std::string refused(const server::Outcome& outcome) {
    return outcome ? "not refused"
                   : std::to_string(static_cast<int>(outcome.error().status())) + " " + outcome.error().what();
  }
  /// The reason why the pipeline is not served.
  std::string refused_file(const std::string& step) try {
    serve(step);
    return "it is served";
  } catch (const api::Error& error) {
    return error.what();
  }

  Folder folder_;
  std::optional<server::Service> service_;
  std::shared_ptr<PathRecord> path_;
  std::shared_ptr<server::Caller> caller_ = std::make_shared<server::Caller>();
  std::mutex mutex_;
  std::string logged_;
};

// ---- HTTP ----

TEST_F(HostSteps, AskAnotherServer) {
  std::string request;
  const OtherServer other([&](const std::string& text) {
    request = text;
    return kGood;
  });
  serve_http(other);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(floats_of(run()), ElementsAre(7, 8.5));
  EXPECT_EQ(other.connections, 1);
  EXPECT_THAT(request, testing::StartsWith("POST /v2/models/m/infer HTTP/1.1\r\n"));
  EXPECT_THAT(request, testing::EndsWith(R"({"outputs":[{"name":"y"}],"inputs":[{"name":"x","datatype":"FP32",)"
                                         R"("shape":[1,2],"data":[1,2]}]})"));
  const auto step = path_->steps().at(0);
  EXPECT_EQ(step.node + ":" + step.kind + ":" + step.taken, "out:http:answered");
}

TEST_F(HostSteps, AskARealServer) {
  const Folder models;
  models.add("double", kDouble);
  server::Service service(options_of(models));
  std::promise<server::Ports> ports;
  std::thread thread([&] {
    const server::ServerOptions options{.http_port = 0, .grpc_port = 0, .metrics_port = 0};
    server::serve(service, options, [&](const server::Ports& p) { ports.set_value(p); });
  });
  serve("http: {url: 'http://127.0.0.1:" + std::to_string(ports.get_future().get().http) +
        "/v2/models/double/infer', inputs: {x: x}, outputs: {y: 'f32[N,2]'}}");
  EXPECT_THAT(floats_of(run({{"x", row({1.25, -0.0F})}})), ElementsAre(2.5, 0));
  EXPECT_THAT(floats_of(run({{"x", row({1, std::nanf("")})}})), ElementsAre(2, testing::NanSensitiveFloatEq(NAN)));
  service_.reset();
  std::raise(SIGTERM);
  thread.join();
}

TEST_F(HostSteps, AskARealServerOverTls) {
  const Folder models;
  models.add("double", kDouble);
  const Authority ours("ours"), theirs("theirs");
  const auto of_server = ours.issue("server", "IP:127.0.0.1"), own = ours.issue("client");
  RunningServer other(
      models, {.tls = {.certificate = of_server.certificate, .key = of_server.key, .client_ca = ours.certificate()}});
  const std::string port = std::to_string(other.ports.http),
                    with_own = ", certificate: " + own.certificate + ", key: " + own.key;
  const auto serve_tls = [&](const std::string& host, const std::string& tls) {
    serve("http: {url: 'https://" + host + ":" + port + "/v2/models/double/infer', " + tls +
          "inputs: {x: x}, outputs: {y: 'f32[N,2]'}, timeout_ms: 5000}");
  };
  serve_tls("127.0.0.1", "tls: {ca: " + ours.certificate() + with_own + "}, ");
  for (int i = 0; i < 3; ++i) EXPECT_THAT(floats_of(run()), ElementsAre(2, 4));
  const struct {
    std::string host, tls, why, logged;
  } cases[] = {
      {"127.0.0.1", "", "503 node 'out': TLS with the other server cannot be set up: its certificate is not accepted",
       "SSL certificate problem"},
      {"127.0.0.1", "tls: {ca: " + theirs.certificate() + with_own + "}, ",
       "503 node 'out': TLS with the other server cannot be set up: its certificate is not accepted",
       "(https://127.0.0.1:" + port + "/v2/models/double/infer: SSL certificate problem"},
      {"localhost", "tls: {ca: " + ours.certificate() + with_own + "}, ",
       "503 node 'out': TLS with the other server cannot be set up: its certificate is not accepted",
       "no alternative certificate subject name matches target host name 'localhost'"},
      {"127.0.0.1", "tls: {ca: " + ours.certificate() + "}, ",
       "503 node 'out': the connection to the other server has ended", "certificate required"}};
  for (const auto& c : cases) {
    serve_tls(c.host, c.tls);
    EXPECT_THAT(refused(run()), testing::StartsWith(c.why));
    EXPECT_THAT(logged(), HasSubstr(c.logged)) << c.host << " " << c.tls;
  }
  service_.reset();
}

TEST_F(HostSteps, PassTheTraceOn) {
  std::string request;
  const OtherServer other([&](const std::string& text) {
    request = text;
    return kGood;
  });
  serve_http(other);
  std::promise<void> done;
  service_->workers().post([&] {
    server::Call call{.caller = caller_, .arrived = Clock::now(), .trace = "00-abc-def-01"};
    call.request.inputs = {{"x", row({1, 2})}};
    call.done = [&](const server::Outcome&) { done.set_value(); };
    service_->infer(service_->models().find("p", ""), std::move(call));
  });
  done.get_future().wait();
  EXPECT_THAT(request, HasSubstr("\r\ntraceparent: 00-abc-def-01\r\n"));
}

TEST_F(HostSteps, TellWhatIsWrongWithTheOtherServer) {
  const struct {
    std::string answer, why;
  } cases[] = {
      {"", "503 node 'out': the connection to the other server has ended"},
      {"wait", "504 node 'out': the other server does not answer in time"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "504 node 'out'"},
      {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "500 node 'out': the other server's answer is no HTTP"},
      {answered("overloaded", "503 No"), "503 node 'out': the other server answers 503"},
      {answered(R"({"error":"bad"})", "400 No"), "400 node 'out': the other server answers 400"},
      {answered("", "404 No"), "500 node 'out': the other server answers 404"},
      {answered("", "302 Found\r\nLocation: http://127.0.0.1:1/"), "500 node 'out': the other server answers 302"},
      {answered("{"), "500 node 'out': the other server's answer does not have the protocol's form"},
      {answered("[]"), "500 node 'out': the other server's answer does not have the protocol's form"},
      {answered(R"({"outputs":[]})"), "500 node 'out': the other server's answer has no output 'y'"},
      {answered(R"({"outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"data":[1]}]})"),
       "500 node 'out': the other server's answer does not have the protocol's form"},
      {answered(R"({"outputs":[{"name":"y","datatype":"FP32","shape":[2,2],"data":[1,2,3,4]}]})"),
       "500 node 'out': output 'y': expected f32[N,2], N = 1; got f32[2,2]"}};
  for (const auto& [answer, why] : cases) {
    const OtherServer other([&](const std::string&) { return answer; });
    serve_http(other);
    const auto began = Clock::now();
    EXPECT_THAT(refused(run()), testing::StartsWith(why));
    EXPECT_LT(Clock::now() - began, 3s);
    serve_http(other, ", on_error: defaults, default: -1");
    EXPECT_THAT(floats_of(run()), ElementsAre(-1, -1)) << answer;
    EXPECT_EQ(path_->steps().at(0).taken, "defaults");
    EXPECT_THAT(path_->steps().at(0).why, HasSubstr(why.substr(4)));
  }
}

TEST_F(HostSteps, WhatAnotherServerSaysIsLoggedAndNotToldToCallers) {
  const std::pair<std::string, const char*> cases[] = {
      {answered(R"({"error":"secret of the other server"})", "500 No"), "secret of the other server"},
      {answered(R"({"outputs":[{"name":"secret","datatype":"FP32","shape":[1],"data":"x"}]})"), "input 'secret'"}};
  for (const auto& [answer, said] : cases) {
    const OtherServer other([&](const std::string&) { return answer; });
    serve_http(other);
    EXPECT_THAT(refused(run()), testing::Not(HasSubstr("secret")));
    EXPECT_THAT(path_->steps().at(0).why, testing::Not(HasSubstr("secret")));
    EXPECT_THAT(logged(), testing::AllOf(HasSubstr("model 'p': node 'out': "), HasSubstr(said)));
  }
}

TEST_F(HostSteps, MakeAnEndedConnectionAgain) {
  int asked = 0;
  const OtherServer other([&](const std::string&) { return ++asked == 2 ? "" : kGood; });
  serve_http(other);
  EXPECT_THAT(floats_of(run()), ElementsAre(7, 8.5));
  EXPECT_THAT(floats_of(run()), ElementsAre(7, 8.5));
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(other.connections, 2);
}

TEST_F(HostSteps, TheRequestsOwnTimeOutHoldsToo) {
  const OtherServer other([](const std::string&) { return "wait"; });
  serve_http(other, ", on_error: defaults");
  EXPECT_THAT(refused(run({{"x", row({1, 2})}}, 20'000)), testing::StartsWith("504 node 'out'"));
}

TEST_F(HostSteps, ACallerWhoLeavesClosesTheConnection) {
  const OtherServer other([](const std::string&) { return "wait"; });
  serve("http: {url: '" + other.url() + "', inputs: {x: x}, outputs: {y: 'f32[N,2]'}, timeout_ms: 60000}");
  auto outcome = ask(*service_, {.model = "p", .inputs = {{"x", row({1, 2})}}, .caller = caller_});
  while (other.connections == 0) std::this_thread::sleep_for(1ms);
  caller_->leave();
  EXPECT_THAT(refused(outcome.get()), testing::StartsWith("499"));
  while (other.left == 0) std::this_thread::sleep_for(1ms);
}

TEST_F(HostSteps, RequestsThatHaveWaitedLeaveFewSessions) {
  const OtherServer other([](const std::string&) { return "wait"; });
  serve("http: {url: '" + other.url() + "', inputs: {x: x}, outputs: {y: 'f32[N,2]'}, timeout_ms: 60000}");
  const auto pipeline = std::dynamic_pointer_cast<const server::Pipeline>(service_->models().find("p", ""));
  constexpr std::size_t kRequests = 100, kKept = server::PipelineGraph::kMaxIdle;
  static_assert(kKept < kRequests);
  std::vector<std::future<server::Outcome>> outcomes;
  for (std::size_t i = 0; i < kRequests; ++i) {
    outcomes.push_back(ask(*service_, {.model = "p", .inputs = {{"x", row({1, 2})}}, .caller = caller_}));
  }
  while (other.answers < static_cast<int>(kRequests)) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(pipeline->graph().sessions().sessions, kRequests) << "each of them has one";
  caller_->leave();
  for (auto& outcome : outcomes) EXPECT_THAT(refused(outcome.get()), testing::StartsWith("499"));
  EXPECT_EQ(pipeline->graph().sessions().sessions, kKept);
}

TEST_F(HostSteps, AServiceEndsAfterWhatIsUnderWay) {
  const OtherServer other([](const std::string&) { return "wait"; });
  folder_.add("double", kDouble);
  serve("race: [{name: slow, steps: [{name: h, http: {url: '" + other.url() +
        "', inputs: {x: x}, outputs: {y: 'f32[N,2]'}, timeout_ms: 200}}], results: {y: h.y}}, "
        "{name: quick, model: double, inputs: {x: x}}]");
  for (int i = 0; i < 10; ++i) EXPECT_THAT(floats_of(run()), ElementsAre(2, 4));
  folder_.write("p.yaml",
                "inputs: {x: 'f32[N,2]'}\nsteps: [{name: s, shadow: {share: 1, steps: [{name: h, http: {url: '" +
                    other.url() +
                    "', inputs: {x: x}, outputs: {y: 'f32[N,2]'}, timeout_ms: 200}}], results: {}}}]\n"
                    "outputs: {y: x}\n");
  service_.emplace(options_of(folder_));
  run();
  const auto began = Clock::now();
  service_.reset();
  EXPECT_GT(Clock::now() - began, 50ms) << "the shadow's call was under way";
}

TEST_F(HostSteps, AReloadLetsWhatIsUnderWayEnd) {
  const OtherServer other([](const std::string&) {
    std::this_thread::sleep_for(5ms);
    return kGood;
  });
  serve_http(other);
  for (int i = 0; i < 30; ++i) {
    auto outcome = ask(*service_, {.model = "p", .inputs = {{"x", row({1, 2})}}});
    service_->models().load("p");
    EXPECT_THAT(floats_of(outcome.get()), ElementsAre(7, 8.5));
  }
}

// ---- functions in C++ ----

void register_functions() {
  static const bool once = [] {
    const server::HostSignature scale{.inputs = {{"x", "f32[N,2]"}, {"by", "f32[]"}}, .outputs = {{"y", "f32[N,2]"}}};
    server::register_host_function("scale", scale, [](const server::HostCall& call) {
      Array y = call.inputs[0];
      const auto by = call.inputs[1].item<float>();
      if (by < 0) throw server::Refusal(Http::bad_request, "it is negative");
      if (by == 0) throw std::runtime_error("it is zero");
      if (by > 100) y = Array(api::Dtype::f32, {5, 2});
      for (float& value : y.mutable_values<float>()) value *= by;
      return std::vector{y};
    });
    server::register_host_function("none", {.inputs = {}, .outputs = {{"y", "f32[1]"}}},
                                   [](const server::HostCall&) { return std::vector<Array>(); });
    return true;
  }();
  EXPECT_TRUE(once);
}

TEST_F(HostSteps, RunFunctionsOfTheProgram) {
  register_functions();
  serve("code: {function: scale, inputs: {by: k, x: x}}", "{x: 'f32[N,2]', k: 'f32[]'}");
  const auto scaled = [&](float by) { return run({{"x", row({1, 2})}, {"k", Array::scalar(by)}}); };
  EXPECT_THAT(floats_of(scaled(3)), ElementsAre(3, 6));
  EXPECT_EQ(path_->steps().at(0).kind, "code");
  EXPECT_EQ(refused(scaled(-1)), "400 node 'out': it is negative");
  EXPECT_EQ(refused(scaled(0)), "500 node 'out': it is zero");
  EXPECT_THAT(refused(scaled(101)), HasSubstr("output 'y': expected f32[N,2], N = 1; got f32[5,2]"));
  serve("code: {function: none}");
  EXPECT_EQ(refused(run()), "500 node 'out': expected 1 outputs, got 0");
}

TEST_F(HostSteps, RefuseFunctionsThatDoNotFit) {
  register_functions();
  EXPECT_THAT(refused_file("code: {function: other}"), HasSubstr("there is no function 'other' in this program"));
  EXPECT_THAT(refused_file("code: {function: scale, inputs: {x: x}}"), HasSubstr("input 'by' of function 'scale'"));
  EXPECT_THAT(refused_file("code: {function: scale, inputs: {x: x, by: x}}"),
              HasSubstr("takes f32[], this is f32[N,2]"));
  EXPECT_THAT(refused_file("code: {function: none, inputs: {x: x}}"), HasSubstr("has no input 'x'"));
  EXPECT_THAT(refused_file("code: {function: none, outputs: {y: 'f32[2]'}}"),
              HasSubstr("the function's output is f32[1]"));
  EXPECT_THROW(server::register_host_function("none", {}, nullptr), api::Error);
  EXPECT_THROW(server::register_host_function("bad", {.inputs = {{"x", "f33"}}, .outputs = {}}, nullptr), api::Error);
}

TEST_F(HostSteps, RefuseCallsThatDoNotFit) {
  const std::string url = "http: {url: 'http://h:1/', inputs: {x: x}, ";
  EXPECT_THAT(refused_file("http: {url: 'h:1', outputs: {y: 'f32[N]'}}"), HasSubstr("expected http://HOST:PORT/PATH"));
  folder_.write("text", "-");
  const std::string tls = "http: {url: 'https://h/', inputs: {x: x}, outputs: {y: 'f32[N,2]'}, tls: ";
  EXPECT_THAT(refused_file(tls + "{ca: none.pem}}"),
              testing::AllOf(HasSubstr("p.yaml:3: field 'steps[0].http.tls': ca "),
                             HasSubstr("/none.pem: No such file or directory")));
  EXPECT_THAT(refused_file(tls + "{ca: text}}"), HasSubstr("expected certificates in PEM"));
  EXPECT_THAT(refused_file(tls + "{key: text}}"), HasSubstr("expected both of the keys 'certificate' and 'key'"));
  EXPECT_THAT(refused_file(url + "outputs: {y: 'f32[N,2]'}, tls: {}}"),
              HasSubstr("requires a URL that begins with https"));
  EXPECT_THAT(refused_file(url + "outputs: {y: 'f32(N)'}}"), HasSubstr("expected the type of a tensor"));
  EXPECT_THAT(refused_file(url + "outputs: {}}"), HasSubstr("at least one output"));
  EXPECT_THAT(refused_file(url + "outputs: {y: 'f32[N]'}, default: 1}"), HasSubstr("it needs on_error: defaults"));
  EXPECT_THAT(refused_file(url + "outputs: {y: 'f32[M]'}, on_error: defaults}"),
              HasSubstr("its defaults need extents"));
  EXPECT_THAT(refused_file(url + "outputs: {y: 'i32[N]'}, on_error: defaults, default: 0.5}"),
              HasSubstr("this default"));
}

// ---- functions in Python ----

class PythonSteps : public HostSteps {
 protected:
  void SetUp() override {
    if (python().empty()) GTEST_SKIP() << "there is no Python with NumPy";
  }
  std::string step(const std::string& function, const std::string& more) {
    folder_.write("code.py", kCode);
    return "code: {python: code.py, interpreter: " + python() + ", function: " + function + ", " + more + "}";
  }
  server::Outcome run_with(float k) { return run({{"x", row({1, 2})}, {"k", Array::scalar(k)}}); }

  static constexpr const char* kCode = R"(
import os, sys, time
import numpy as np
calls = 0
def act(x, k):
    global calls
    calls += 1
    print("this goes where errors go")
    if k == 1: raise ValueError("k is\none")
    if k == 2: os._exit(3)
    if k == 3: os.kill(os.getpid(), 9)
    if k == 4: time.sleep(60)
    if k == 5: return x[:, :1]
    if k == 6: return (x, x)
    if k == 7: time.sleep(0.6)
    if k == 8: sys.exit(4)
    if k == 9: os.write(3, b"garbagegarbage")
    return x * k + calls / 1000
def texts(words, numbers):
    assert words.shape == (2, 2) and words.dtype == object and numbers.flags.writeable and numbers.flags.aligned
    return {"n": [[len(w) for w in row] for row in words], "y": [w + "!" for w in words[0]], "e": numbers[:0], "s": numbers.sum() > 3}
)";
};

TEST_F(PythonSteps, RunFunctions) {
  serve(step("act", "inputs: {x: x, k: k}, outputs: {y: 'f32[N,2]'}"), "{x: 'f32[N,2]', k: 'f32[]'}");
  EXPECT_EQ(floats_of(run_with(10)), (std::vector{10 + 0.001F, 20 + 0.001F}));
  EXPECT_EQ(floats_of(run_with(10)), (std::vector{10 + 0.002F, 20 + 0.002F})) << "in one process";
  EXPECT_EQ(path_->steps().at(0).kind, "code");
}

TEST_F(PythonSteps, TakeAndGiveTensorsOfAllKinds) {
  folder_.write("p.yaml", "inputs: {w: 'string[2,M]', n: 'f64[...]'}\nsteps:\n  - {name: s, " +
                              step("texts",
                                   "inputs: {words: w, numbers: n}, outputs: {n: 'i64[2,M]', y: 'string[M]', "
                                   "e: 'f64[...]', s: 'bool[]'}") +
                              "}\noutputs: {n: s.n, y: s.y, e: s.e, s: s.s}\n");
  service_.emplace(options_of(folder_));
  const auto words = Array::of<std::string>({2, 2}, {"", "a\xff", std::string("\0b", 2), "\xc3\xbc"});
  const auto outcome = run({{"w", words}, {"n", Array::of<double>({2}, {1.5, 2})}});
  ASSERT_TRUE(outcome) << outcome.error().what();
  std::vector<std::string> texts;
  for (const auto& output : outcome->outputs) texts.push_back(output.second.str());
  EXPECT_EQ(texts[0], "i64[2,2] [[0, 2], [2, 1]]");
  EXPECT_THAT(outcome->outputs[1].second.values<std::string>(), ElementsAre("!", "a\xff!"));
  EXPECT_EQ(texts[2], "f64[0] []");
  EXPECT_EQ(texts[3], "bool[] true");
}

TEST_F(PythonSteps, TellWhatIsWrongAndGoOn) {
  serve(step("act", "timeout_ms: 500, inputs: {x: x, k: k}, outputs: {y: 'f32[N,2]'}"), "{x: 'f32[N,2]', k: 'f32[]'}");
  const std::string failed = "500 node 'out': the Python function failed; the server's log has the reason";
  const struct {
    float k;
    std::string why, log;
  } cases[] = {{1, failed, "ValueError: k is one (code.py:9)"},
               {2, failed, "the Python process ended with status 3"},
               {3, failed, "the Python process was ended by signal 9"},
               {4, "504 node 'out': the Python function did not end in time; its process is started again", ""},
               {5, "500 node 'out': output 'y': expected f32[N,2], N = 1; got f32[1,1]", ""},
               {6, failed, "ValueError: act returned 2 values, expected 1"},
               {8, failed, "the Python process ended with status 4"},
               {9, failed, "the Python process sent a malformed answer"}};
  for (const auto& [k, why, log] : cases) {
    EXPECT_THAT(refused(run_with(k)), testing::StartsWith(why));
    if (!log.empty()) EXPECT_EQ(logged(), "model 'p': node 'out': " + log);
    EXPECT_THAT(floats_of(run_with(10)), testing::SizeIs(2)) << "after " << why;
  }
}

/// What a process has of the server: no file, and the variables that its step names.
TEST_F(PythonSteps, ProcessesInheritNothingThatIsNotNamed) {
  ::setenv("FRAZIL_TEST_SECRET", "secret", 1);
  ::setenv("FRAZIL_TEST_GIVEN", "given", 1);
  const int file = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as libraries open files
  const int high = ::fcntl(file, F_DUPFD, 500);
  folder_.write("code.py", R"(
import os
def look(x):
    files = sorted(int(name) for name in os.listdir("/proc/self/fd"))
    names = sorted(name for name in os.environ if not name.startswith("LC_"))
    return {"n": len([f for f in files if f > 3]) - 1, "e": " ".join(f"{n}={os.environ[n]}" for n in names)}
)");
  const auto environment = [&](const std::string& more) {
    folder_.write("p.yaml",
                  "inputs: {x: 'f32[N,2]'}\nsteps:\n  - {name: out, code: {python: code.py, interpreter: " + python() +
                      ", function: look, " + more + "inputs: {x: x}, outputs: {n: 'i64[]', e: 'string[]'}}}\n" +
                      "outputs: {n: out.n, e: out.e}\n");
    service_.emplace(options_of(folder_));
    const auto outcome = run();
    if (!outcome) return std::string(outcome.error().what());
    EXPECT_EQ(outcome->outputs.at(0).second.item<std::int64_t>(), 0) << "files beside the link";
    return outcome->outputs.at(1).second.item<std::string>();
  };
  EXPECT_EQ(environment(""), "");
  EXPECT_EQ(environment("environment: [FRAZIL_TEST_GIVEN, 'A=b=c', FRAZIL_TEST_NONE], "),
            "A=b=c FRAZIL_TEST_GIVEN=given");
  ::close(file);
  ::close(high);
}

/// Limits end a call, with an error that names the node, and the next call works.
TEST_F(PythonSteps, EndAtTheLimitsOfTheirSandbox) {
  folder_.write("code.py", R"(
import os
import numpy as np
def act(x, k):
    if k == 1: np.ones(1 << 30)
    if k == 2:
        while True: pass
    if k == 3: os.fork()
    if k == 4:
        with open(os.environ["TMPDIR"] + "/large", "wb") as file: file.write(bytes(2 << 20))
    return x * k
)");
  const std::string failed = "500 node 'out': the Python function failed; the server's log has the reason";
  const std::string ports = "inputs: {x: x, k: k}, outputs: {y: 'f32[N,2]'}";
  serve("code: {python: code.py, interpreter: " + python() +
            ", function: act, timeout_ms: 20000, environment: ['OPENBLAS_NUM_THREADS=1'], "
            "sandbox: {memory: 1GiB, cpu_ms: 200, file: 1MiB, tmp: true}, " +
            ports + "}",
        "{x: 'f32[N,2]', k: 'f32[]'}");
  const struct {
    float k;
    std::string why, log;
  } cases[] = {{1, failed,
                "MemoryError: Unable to allocate 8.00 GiB for an array with shape (1073741824,) and data "
                "type float64 (code.py:5); its memory is limited to 1073741824 bytes"},
               {2,
                "504 node 'out': the Python function used more processor time than its limit of 200 ms; its process "
                "is started again",
                ""},
               {3, failed, "PermissionError: [Errno 1] Operation not permitted (code.py:8)"},
               {4, failed, "OSError: [Errno 27] File too large (code.py:10)"}};
  for (const auto& [k, why, log] : cases) {
    EXPECT_EQ(refused(run_with(k)), why);
    if (!log.empty()) EXPECT_EQ(logged(), "model 'p': node 'out': " + log);
    EXPECT_EQ(floats_of(run_with(10)), (std::vector<float>{10, 20})) << "after " << k;
  }
}

TEST_F(PythonSteps, UseTheFilesThatTheyDeclare) {
  folder_.write("code.py", R"(
import os, helper, package.part
def look(x):
    def state(path):
        try:
            with open(os.path.join(os.path.dirname(__file__), path), "a" if path.startswith("out") else "r"): return path
        except OSError: return "-"
    return {"e": " ".join(map(state, ["table.csv", "other.csv", "out/new.txt"])) + str(os.path.exists(os.environ.get("TMPDIR", "-")))}
)");
  for (const char* name : {"helper.py", "package/__init__.py", "package/part.py"}) folder_.write(name, "");
  for (const char* name : {"table.csv", "other.csv", "out/old.txt"}) folder_.write(name, "1");
  const auto seen = [&](const std::string& sandbox) {
    folder_.write("p.yaml", "inputs: {x: 'f32[N,2]'}\nsteps:\n  - {name: out, code: {python: code.py, interpreter: " +
                                python() + ", function: look, sandbox: " + sandbox +
                                ", inputs: {x: x}, outputs: {e: 'string[]'}}}\noutputs: {e: out.e}\n");
    service_.emplace(options_of(folder_));
    const auto outcome = run();
    return outcome ? outcome->outputs.at(0).second.item<std::string>() : std::string(outcome.error().what());
  };
  for (const char* most : {"no-network", "isolated"}) {
    EXPECT_EQ(seen(std::string("{most: ") + most + "}"), "- - -False");
    EXPECT_EQ(seen(std::string("{most: ") + most + ", read: [table.csv], write: [out], tmp: true}"),
              "table.csv - out/new.txtTrue");
  }
  EXPECT_EQ(seen("none"), "table.csv other.csv out/new.txtFalse");
}

TEST_F(PythonSteps, ReachALevelOrAreNotServed) {
  const std::string ports = ", inputs: {x: x, k: k}, outputs: {y: 'f32[N,2]'}";
  std::vector<std::string> notices;
  const auto served = [&](const std::string& more, server::SandboxLevel least = server::SandboxLevel::none) {
    folder_.write("p.yaml", "inputs: {x: 'f32[N,2]', k: 'f32[]'}\nsteps:\n  - {name: out, " +
                                step("act", more + ports) + "}\noutputs: {y: out.y}\n");
    server::ServiceOptions options = options_of(folder_);
    options.config.governance.sandbox = least;
    options.notify = [&](const server::Notice& notice) { notices.push_back(notice.text); };
    try {
      service_.emplace(options);
      return notices.back();
    } catch (const api::Error& error) {
      return std::string(error.what());
    }
  };
  const std::string none = "node 'out': its sandbox has the level 'none', no higher one: it is turned off";
  EXPECT_EQ(served("sandbox: none"), none);
  EXPECT_THAT(served("sandbox: {most: none, level: no-network}"),
              HasSubstr("p.yaml:3: field 'steps[0].code': expected a sandbox of level 'no-network', only 'none' can be "
                        "reached: it is turned off; a step can declare another level in 'sandbox: {level: ...}'"));
  EXPECT_THAT(served("network: true, sandbox: {level: isolated}"),
              HasSubstr("expected a sandbox of level 'isolated', only 'limits' can be reached: the step declares "
                        "'network: true'"));
  EXPECT_THAT(served("sandbox: none", server::SandboxLevel::limits),
              HasSubstr("expected a sandbox of level 'limits', only 'none' can be reached"));
  const struct {
    std::string sandbox, why;
  } bad[] = {{"sandbox: {level: strict}", "expected none, limits, no-network or isolated, got 'strict'"},
             {"sandbox: {most: limits}", "expected none, no-network or isolated"},
             {"sandbox: off", "field 'steps[0].code.sandbox': expected none, or a map"},
             {"sandbox: {read: [missing]}", "expected a file or folder that exists, got 'missing'"},
             {"sandbox: {memory: 1MiB}", "expected at least 67108864 bytes"},
             {"sandbox: {cpu: 1}", "sandbox.cpu': this key is unknown"}};
  for (const auto& [sandbox, why] : bad) EXPECT_THAT(served(sandbox), HasSubstr(why));
}

TEST_F(PythonSteps, ARequestThatDoesNotWaitLeavesTheProcessAlone) {
  serve(step("act", "timeout_ms: 5000, inputs: {x: x, k: k}, outputs: {y: 'f32[N,2]'}"), "{x: 'f32[N,2]', k: 'f32[]'}");
  const auto began = Clock::now();
  EXPECT_THAT(refused(run({{"x", row({1, 2})}, {"k", Array::scalar(7.0F)}}, 50'000)),
              testing::StartsWith("504 node 'out'"));
  EXPECT_THAT(refused(run({{"x", row({1, 2})}, {"k", Array::scalar(10.0F)}}, 20'000)),
              testing::StartsWith("504 node 'out'"))
      << "it waits behind the first one";
  EXPECT_LT(Clock::now() - began, 500ms);
  EXPECT_EQ(floats_of(run_with(10))[0], 10 + 0.002F) << "the process is the same, and never got the second one";
}

TEST_F(PythonSteps, AReloadLetsWhatIsUnderWayEnd) {
  serve(step("act", "timeout_ms: 5000, inputs: {x: x, k: k}, outputs: {y: 'f32[N,2]'}"), "{x: 'f32[N,2]', k: 'f32[]'}");
  auto outcome = ask(*service_, {.model = "p", .inputs = {{"x", row({1, 2})}, {"k", Array::scalar(7.0F)}}});
  folder_.write("code.py", std::string(kCode) + "# changed");
  service_->models().load("p");
  EXPECT_EQ(floats_of(outcome.get())[0], 7 + 0.001F);
  EXPECT_EQ(floats_of(run_with(10))[0], 10 + 0.001F) << "the new pipeline has a process of its own";
}

TEST_F(PythonSteps, AReloadKeepsProcessesThatAreDeclaredAsTheyWere) {
  const std::string ports = "inputs: {x: x, k: k}, outputs: {y: 'f32[N,2]'}";
  serve(step("act", ports), "{x: 'f32[N,2]', k: 'f32[]'}");
  const auto calls = [&] { return std::lround((floats_of(run_with(10)).at(0) - 10) * 1000); };
  const auto reloaded = [&] {
    service_->models().load("p");
    return calls();
  };
  const auto write_pipeline = [&](const std::string& more, const std::string& step_name) {
    folder_.write("p.yaml", "inputs: {x: 'f32[N,2]', k: 'f32[]'}\nsteps:\n  - {name: " + step_name + ", " +
                                step("act", more + ports) + "}\noutputs: {y: " + step_name +
                                ".y}\ndeadline_ms: 9000\n");
  };
  EXPECT_EQ(calls(), 1);
  EXPECT_EQ(reloaded(), 2);
  write_pipeline("", "out");
  EXPECT_EQ(reloaded(), 3) << "another part of the pipeline has changed";
  write_pipeline("timeout_ms: 5000, ", "out");
  EXPECT_EQ(reloaded(), 1) << "another declaration";
  write_pipeline("timeout_ms: 5000, ", "other");
  EXPECT_EQ(reloaded(), 1) << "another step";
  folder_.write("helper.py", "");
  EXPECT_EQ(reloaded(), 1) << "a file that it may import";
  EXPECT_EQ(reloaded(), 2);
}

TEST_F(PythonSteps, SeveralProcessesRunAtOnce) {
  serve(step("act", "processes: 2, timeout_ms: 5000, inputs: {x: x, k: k}, outputs: {y: 'f32[N,2]'}"),
        "{x: 'f32[N,2]', k: 'f32[]'}");
  const auto began = Clock::now();
  std::vector<std::future<server::Outcome>> outcomes;
  for (int i = 0; i < 2; ++i) {
    outcomes.push_back(ask(*service_, {.model = "p", .inputs = {{"x", row({1, 2})}, {"k", Array::scalar(7.0F)}}}));
  }
  for (auto& outcome : outcomes) EXPECT_TRUE(outcome.get());
  EXPECT_LT(Clock::now() - began, 1100ms);
}

TEST_F(PythonSteps, RefuseFilesThatCannotBeRead) {
  const std::string more = "inputs: {x: x}, outputs: {y: 'f32[N,2]'}";
  EXPECT_THAT(refused_file(step("missing", more)), HasSubstr("has no attribute 'missing'"));
  EXPECT_THAT(refused_file(step("act", "inputs: {x: x}, outputs: {y: 'bf16[N,2]'}")), HasSubstr("NumPy has no type"));
  std::string bad = step("act", more);
  folder_.write("code.py", "def act(:\n");
  EXPECT_THAT(refused_file(bad), HasSubstr("SyntaxError"));
  EXPECT_THAT(refused_file(bad), HasSubstr("p.yaml:3: field 'steps[0].code.python'"));
  EXPECT_THAT(refused_file("code: {python: none.py, function: f, " + more + "}"), HasSubstr("none.py"));
  EXPECT_THAT(refused_file("code: {python: code.py, interpreter: /no/python, function: f, " + more + "}"),
              HasSubstr("'/no/python' cannot be started"));
}

}  // namespace
}  // namespace frazil::test
