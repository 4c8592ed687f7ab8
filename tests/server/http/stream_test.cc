// Answers in parts: who emits them, in which order, over which protocol, and when they end.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/grpc_client.h"
#include "server/grpc_encode.h"
#include "server/rest_asked.h"
#include "server/running.h"
#include "server/service/path_log.h"

namespace frazil::test {
namespace {

using server::Http;
using server::InferResponse;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// Adds 1. From 5 on it fails: its index is outside of the tensor.
constexpr const char* kUpToFive =
    "graph g(%x: f32[N,2]) { %m = ReduceMax(%x) {keepdims = 0} %z = Div(%m, f32[] 5) %f = Floor(%z)"
    "%d = Mul(%f, f32[] 7) %i = Cast(%d) {to = i64} %v = Gather(%x, %i) {axis = 1} %o = Mul(%v, f32[] 0)"
    "%u = Unsqueeze(%o, i64[1] 1) %s = Add(%x, %u) %y = Add(%s, f32[] 1) return y = %y }";

/// Adds 1 until the parameter "to" is reached, and emits each value as "token".
std::string counting(const std::string& model, const std::string& emit = "{token: s.y}") {
  return "inputs: {x: 'f32[N,2]'}\nsteps:\n  - name: out\n    loop:\n      start: {y: x}\n"
         "      while: max(y) < param('to', 3)\n      steps: [{name: s, model: " +
         model + ", inputs: {x: y}}]\n      next: {y: s.y}\n      emit: " + emit +
         "\noutputs: {y: out.y, count: out.count}\n";
}

/// Copies what it gets and emits that; ends after 100,000 times.
constexpr const char* kEcho =
    "inputs: {x: 'f32[N]'}\nsteps:\n  - name: out\n    loop:\n      start: {y: x}\n      most: 100000\n"
    "      steps: [{name: s, model: same, inputs: {x: y}}]\n      next: {y: s.y}\n      emit: {part: y}\n"
    "outputs: {count: out.count}\n";

void add_models(const Folder& folder) {
  folder.add("double", kDouble);
  folder.add("one", "graph g(%x: f32[N,2]) { %y = Add(%x, f32[] 1) return y = %y }");
  folder.add("five", kUpToFive);
  folder.add("same", "graph g(%x: f32[N]) { %y = Add(%x, f32[] 0) return y = %y }");
  folder.write("count.yaml", counting("one"));
  folder.write("breaks.yaml", counting("five"));
  folder.write("echo.yaml", kEcho);
}

// ---- pipelines ----

class Emitting : public testing::Test {
 protected:
  Emitting() { add_models(folder_); }
  server::Service& service() {
    if (!service_) service_.emplace(options_of(folder_));
    return *service_;
  }
  std::string text_of(const InferResponse& response) const {
    std::string text = response.model + response.version + response.id;
    for (const auto& [name, value] : response.outputs) text += " " + name + "=" + value.str();
    return text;
  }
  /// Asks, keeps the parts as texts, and returns the answer as one.
  std::string run(Asking asking) {
    parts_.clear();
    asking.part = [this](const InferResponse& part) { parts_.push_back(text_of(part)); };
    return told(ask(service(), std::move(asking)).get());
  }
  std::string told(const server::Outcome& outcome) const {
    return outcome ? text_of(*outcome)
                   : std::to_string(static_cast<unsigned>(outcome.error().status())) + " " + outcome.error().what();
  }
  static Asking asking_of(const char* model, std::initializer_list<float> x = {0, 1}) {
    return {.model = model, .inputs = {{"x", row(x)}}};
  }
  const server::Statistics& statistics_of(const char* model) {
    return service().models().find(model, "")->statistics();
  }

  Folder folder_;
  std::optional<server::Service> service_;
  std::vector<std::string> parts_;
};

TEST_F(Emitting, LoopsGiveAPartForEachIterationAndThenTheAnswer) {
  Asking asking = asking_of("count");
  asking.id = "a";
  EXPECT_EQ(run(asking), "count1a y=f32[1,2] [[2, 3]] count=i64[] 2");
  EXPECT_THAT(parts_, ElementsAre("count1a token=f32[1,2] [[1, 2]]", "count1a token=f32[1,2] [[2, 3]]"));
  EXPECT_THAT(run(asking_of("count", {3, 0})), HasSubstr("count=i64[] 0"));
  EXPECT_THAT(parts_, ElementsAre()) << "no iteration, no part";
}

TEST_F(Emitting, AnswerOnceWhereOneAnswerIsWanted) {
  EXPECT_EQ(told(ask(service(), asking_of("count")).get()), "count1 y=f32[1,2] [[2, 3]] count=i64[] 2");
}

TEST_F(Emitting, ValuesAreThoseBehindTheIteration) {
  folder_.write("count.yaml", counting("one", "{before: x, y: y, step: s.y}"));
  EXPECT_EQ(run(asking_of("count", {0, 2})), "count1 y=f32[1,2] [[1, 3]] count=i64[] 1");
  EXPECT_THAT(parts_, ElementsAre("count1 before=f32[1,2] [[0, 2]] y=f32[1,2] [[1, 3]] step=f32[1,2] [[1, 3]]"));
}

TEST_F(Emitting, PartsHaveTheOutputsThatTheRequestWants) {
  Asking asking = asking_of("count", {0, 2});
  asking.outputs = {{.name = "token"}};
  EXPECT_EQ(run(asking), "count1");
  EXPECT_THAT(parts_, ElementsAre("count1 token=f32[1,2] [[1, 3]]"));
  asking.outputs = {{.name = "count"}, {.name = "token", .classes = 1}};
  EXPECT_EQ(run(asking), "count1 count=i64[] 1");
  EXPECT_THAT(parts_, ElementsAre("count1 token=string[1,1] [[\"3:1\"]]"));
  asking.outputs = {{.name = "y"}};
  EXPECT_EQ(run(asking), "count1 y=f32[1,2] [[1, 3]]");
  EXPECT_THAT(parts_, ElementsAre());
  asking.outputs = {{.name = "tokens"}};
  EXPECT_EQ(run(asking), "400 model 'count' has no output 'tokens'");
  asking.outputs = {{.name = "token"}};
  EXPECT_EQ(told(ask(service(), asking).get()),
            "400 output 'token' of model 'count' is only sent in parts: use generate_stream or ModelStreamInfer");
}

TEST_F(Emitting, AFaultInTheMiddleFollowsTheParts) {
  Asking asking = asking_of("breaks", {0, 2});
  asking.parameters = {{"to", std::int64_t{9}}};
  EXPECT_THAT(run(asking), StartsWith("400 node 's': "));
  EXPECT_EQ(parts_.size(), 3U);
}

TEST_F(Emitting, WhatAPartThrowsFailsTheRequest) {
  Asking asking = asking_of("count");
  asking.part = [](const InferResponse&) { throw server::Refusal(Http::unsupported, "no more"); };
  EXPECT_EQ(told(ask(service(), asking).get()), "501 no more");
}

TEST_F(Emitting, NothingRunsForACallerWhoLeavesInTheMiddle) {
  Asking asking = asking_of("count");
  asking.parameters = {{"to", std::int64_t{1'000'000}}};
  std::size_t parts = 0;
  asking.part = [&, caller = asking.caller](const InferResponse&) {
    if (++parts == 3) caller->leave();
  };
  EXPECT_EQ(told(ask(service(), asking).get()), "499 the caller has disconnected");
  EXPECT_EQ(parts, 3U);
  EXPECT_EQ(statistics_of("one").runs.count(), 3U);
}

TEST_F(Emitting, ACallerForWhomTooMuchIsOnItsWayLeaves) {
  Asking asking{.model = "echo", .inputs = {{"x", api::Array::of<float>({1 << 20}, std::vector<float>(1 << 20))}}};
  std::size_t parts = 0;
  asking.part = [&, caller = asking.caller](const InferResponse& part) {
    ++parts;
    caller->send(part.outputs[0].second.bytes());
  };
  EXPECT_EQ(told(ask(service(), asking).get()), "499 the caller does not read: parts of more than 8388608 bytes wait");
  EXPECT_EQ(parts, 3U);
}

TEST_F(Emitting, PartsOfAPipelineThatIsCalledAreGivenOn) {
  folder_.write("outer.yaml",
                "inputs: {x: 'f32[N,2]'}\nsteps:\n  - name: out\n    switch:\n"
                "      - name: small\n        when: max(x) < 2\n        steps:\n"
                "          - {name: c, model: count, inputs: {x: x}, emit: {word: token}}\n"
                "        results: {y: c.y}\n"
                "      - {name: large, results: {y: x}}\noutputs: {y: out.y}\n");
  EXPECT_EQ(run(asking_of("outer")), "outer1 y=f32[1,2] [[2, 3]]");
  EXPECT_THAT(parts_, ElementsAre("outer1 word=f32[1,2] [[1, 2]]", "outer1 word=f32[1,2] [[2, 3]]"));
  EXPECT_EQ(run(asking_of("outer", {7, 7})), "outer1 y=f32[1,2] [[7, 7]]");
  EXPECT_THAT(parts_, ElementsAre());
}

TEST_F(Emitting, AFallbackDoesNotReplaceWhatHasEmitted) {
  const auto fallback = [&](const char* first) {
    folder_.write("safe.yaml", std::string("inputs: {x: 'f32[N,2]'}\nsteps:\n  - name: out\n    fallback:\n"
                                           "      - {name: a, model: ") +
                                   first +
                                   ", inputs: {x: x}, emit: {token: token}}\n"
                                   "      - {name: b, model: count, inputs: {x: x}, emit: {token: token}}\n"
                                   "outputs: {y: out.y}\n");
    service_.emplace(options_of(folder_));
  };
  Asking asking = asking_of("safe", {0, 3});
  asking.parameters = {{"to", std::int64_t{6}}};
  fallback("breaks");
  EXPECT_THAT(run(asking), StartsWith("400 node 'out.a': "));
  EXPECT_EQ(parts_.size(), 2U);
  asking.inputs = {{"x", row({0, 5})}};
  EXPECT_EQ(run(asking), "safe1 y=f32[1,2] [[1, 6]]") << "it failed before its first part";
  EXPECT_EQ(parts_.size(), 1U);
}

TEST_F(Emitting, ModelsKeepTheirStateFromIterationToIteration) {
  folder_.add("sum/1", "graph g(%x: f32[N,2], %s: f32[N,2]) { %t = Add(%x, %s) return y = %t, t = %t }");
  folder_.write("sum/config.pbtxt", "sequence_batching { state { input_name: 's' output_name: 't' } }");
  folder_.write("total.yaml",
                "inputs: {x: 'f32[N,2]'}\nsteps:\n  - name: out\n    loop:\n      start: {y: x}\n      most: 3\n"
                "      steps: [{name: s, model: sum, inputs: {x: x}}]\n      next: {y: s.y}\n      emit: {sum: y}\n"
                "outputs: {y: out.y}\n");
  Asking asking = asking_of("total", {1, 2});
  asking.sequence = {.id = "a", .start = true};
  EXPECT_EQ(run(asking), "total1 y=f32[1,2] [[3, 6]]");
  EXPECT_THAT(parts_, ElementsAre("total1 sum=f32[1,2] [[1, 2]]", "total1 sum=f32[1,2] [[2, 4]]",
                                  "total1 sum=f32[1,2] [[3, 6]]"));
  asking.sequence = {.id = "a", .end = true};
  EXPECT_EQ(run(asking), "total1 y=f32[1,2] [[6, 12]]") << "the sequence goes on";
  asking.sequence = {.id = "a", .start = true};
  EXPECT_EQ(run(asking), "total1 y=f32[1,2] [[3, 6]]") << "and starts anew";
}

TEST_F(Emitting, ARequestCountsOnce) {
  run(asking_of("count"));
  run(asking_of("count", {5, 5}));
  const std::string metrics = service().metrics().body;
  for (const char* line : {R"(frazil_requests_total{model="count",version="1",outcome="success"} 2)",
                           R"(frazil_parts_total{model="count",version="1"} 2)",
                           R"(frazil_first_part_seconds_count{model="count",version="1"} 1)",
                           R"(frazil_first_part_seconds_bucket{model="count",version="1",le="+Inf"} 1)"}) {
    EXPECT_THAT(metrics, HasSubstr(line));
  }
  EXPECT_THAT(metrics, testing::Not(HasSubstr(R"(frazil_parts_total{model="one")"))) << "it gives none";
  EXPECT_GT(statistics_of("count").first_part.nanoseconds(), 0U);
  EXPECT_LE(statistics_of("count").first_part.nanoseconds(), statistics_of("count").success.nanoseconds());
  const auto paths = service().paths().find({.model = "count"});
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths[1]->parts, 2U);
  EXPECT_GT(paths[1]->first_part.count(), 0);
  EXPECT_LE(paths[1]->first_part, paths[1]->time);
  const auto json_of = [](const server::RequestRecord& record) {
    server::JsonText json;
    server::write_record(json, record, false);
    return json.take();
  };
  EXPECT_THAT(json_of(*paths[1]), testing::ContainsRegex(R"("parts":2,"first_part_us":[0-9])"));
  EXPECT_THAT(json_of(*paths[0]), testing::Not(HasSubstr("first_part_us")));
}

struct BadEmit {
  const char *steps, *why;
};
class BadEmits : public Emitting, public testing::WithParamInterface<BadEmit> {};

TEST_P(BadEmits, AreRefusedWithThePlace) {
  folder_.write("p.yaml",
                std::string("inputs: {x: 'f32[N,2]'}\nsteps:\n") + GetParam().steps + "outputs: {y: out.y}\n");
  try {
    service();
    FAIL() << "no error";
  } catch (const api::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().why));
    EXPECT_THAT(error.what(), HasSubstr("p.yaml:"));
  }
}

#define LOOP(emit)                                                                                              \
  "  - name: out\n    loop: {start: {y: x}, most: 2, steps: [{name: s, model: one, inputs: {x: y}}], next: {y: s.y}, " \
  "emit: " emit "}\n"
INSTANTIATE_TEST_SUITE_P(
    Cases, BadEmits,
    testing::Values(
        BadEmit{LOOP("{token: q}"), "there is no value 'q' here"}, BadEmit{LOOP("[s.y]"), "expected a map"},
        BadEmit{LOOP("{y: out.count}"), "there is no value 'out.count' here"},
        BadEmit{"  - {name: a, model: count, inputs: {x: x}}\n" LOOP("{y: a.count}"),
                "output 'y' is f32[N,2] elsewhere, here it is i64[]"},
        BadEmit{"  - {name: a, model: count, inputs: {x: x}, emit: {t: token}}\n" LOOP("{t: a.count}"),
                "output 't' is f32[N,2] elsewhere, here it is i64[]"},
        BadEmit{"  - {name: out, model: one, inputs: {x: x}, emit: {y: y}}\n", "model 'one' does not emit 'y'"},
        BadEmit{"  - {name: out, model: count, inputs: {x: x}, emit: {y: y}}\n", "model 'count' does not emit 'y'"},
        BadEmit{"  - name: out\n    race:\n      - {name: a, model: count, inputs: {x: x}, emit: {t: token}}\n"
                "      - {name: b, model: count, inputs: {x: x}}\n",
                "cannot emit"},
        BadEmit{"  - name: out\n    ensemble:\n      blocks:\n"
                "        - {name: a, model: count, inputs: {x: x}, emit: {t: token}}\n",
                "cannot emit"},
        BadEmit{"  - name: trial\n    shadow: {share: 1, model: count, inputs: {x: x}, emit: {t: token}}\n"
                "  - {name: out, model: one, inputs: {x: x}}\n",
                "cannot emit"}));
#undef LOOP

TEST_F(Emitting, ClientsAreToldOfIt) {
  const auto get = [&](std::string_view path) {
    return reply_to(service(), {.method = "GET", .path = path, .body = ""}).body;
  };
  EXPECT_THAT(
      get("/v2/models/count"),
      HasSubstr(
          R"({"name":"count","datatype":"INT64","shape":[]},{"name":"token","datatype":"FP32","shape":[-1,2]}]})"));
  EXPECT_THAT(get("/v2/models/count/config"), HasSubstr(R"("model_transaction_policy":{"decoupled":true})"));
  EXPECT_THAT(get("/v2/models/one/config"), HasSubstr(R"("model_transaction_policy":{"decoupled":false})"));
}

// ---- server-sent events ----

std::string event(const std::string& fields, const char* model = "count") {
  return "data: {\"model_name\":\"" + std::string(model) + R"(","model_version":"1",)" + fields + "}\n\n";
}
std::string chunk(const std::string& text) {
  char size[16];
  const int digits = std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return std::string(size, static_cast<std::size_t>(digits)) + text + "\r\n";
}
const std::string kFirst = event(R"("token":[1,2])"), kSecond = event(R"("token":[2,3])"),
                  kLast = event(R"("y":[2,3],"count":2,"triton_final_response":true)");

std::string posted(const std::string& model, const std::string& body, const std::string& headers = "",
                   const std::string& version = "1.1") {
  return "POST /v2/models/" + model + "/generate_stream HTTP/" + version + "\r\nHost: localhost\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

constexpr const char* kForEver = R"({"x":[0,1],"to":100000000})";

class Events : public testing::Test {
 protected:
  Events() { add_models(folder_); }
  /// Asks for an answer that does not end, and reads its beginning.
  static void begin(TextClient& client) {
    client.send(posted("count", kForEver));
    for (int i = 1; i <= 3; ++i) {
      EXPECT_THAT(client.up_to("\n\n"),
                  testing::EndsWith("\"token\":[" + std::to_string(i) + "," + std::to_string(i + 1) + "]}"));
    }
  }
  /// Waits until a request for the pipeline has failed, and expects that nothing runs for it any more.
  static void expect_cancelled(const RunningServer& server, const char* pipeline = "count", const char* model = "one") {
    server.wait_for_failures(pipeline, 1);
    const auto& statistics = server.service.models().find(pipeline, "")->statistics();
    const auto& runs = server.service.models().find(model, "")->statistics().runs;
    EXPECT_EQ(statistics.cancelled, 1U);
    const std::uint64_t now = runs.count();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(runs.count(), now);
  }
  /// Of a request with parts of 200 kB.
  static std::string large_body() {
    std::string body = R"({"x":[0.5)";
    for (int i = 1; i < 50'000; ++i) body += ",0.5";
    return body + "]}";
  }
  Folder folder_;
};

TEST_F(Events, AreChunksOfAnAnswerAndTheConnectionGoesOn) {
  const RunningServer server(folder_);
  TextClient client(server.port);
  for (int i = 0; i < 2; ++i) {
    client.send(posted("count", R"({"x":[0,1]})"));
    EXPECT_EQ(client.up_to("\r\n\r\n"),
              "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
              "Transfer-Encoding: chunked");
    EXPECT_EQ(client.up_to("\r\n0\r\n\r\n") + "\r\n", chunk(kFirst) + chunk(kSecond) + chunk(kLast));
  }
  client.send(posted("count/versions/1", R"({"id":"a","x":[2,2]})") + posted("count", R"({"x":[9,9]})"));
  EXPECT_THAT(client.up_to("0\r\n\r\n"), HasSubstr(R"("id":"a","token":[3,3]})"));
  EXPECT_THAT(client.up_to("\n\n"), testing::EndsWith(R"("y":[9,9],"count":0,"triton_final_response":true})"))
      << "what was sent meanwhile is answered";
}

TEST_F(Events, EndWithTheConnectionWhereTheClientWantsThat) {
  const RunningServer server(folder_);
  TextClient old(server.port), closing(server.port);
  old.send(posted("count", R"({"x":[0,1]})", "Connection: keep-alive\r\n", "1.0"));
  EXPECT_THAT(old.up_to("\r\n\r\n"), testing::EndsWith("Cache-Control: no-store\r\nConnection: close"));
  EXPECT_EQ(old.up_to("never"), kFirst + kSecond + kLast);
  EXPECT_TRUE(old.ended);
  closing.send(posted("count", R"({"x":[0,1]})", "Connection: close\r\n"));
  EXPECT_THAT(closing.up_to("\r\n\r\n"), testing::EndsWith("Connection: close\r\nTransfer-Encoding: chunked"));
  EXPECT_THAT(closing.up_to("never"), testing::EndsWith("\r\n0\r\n\r\n"));
  EXPECT_TRUE(closing.ended);
}

TEST_F(Events, AModelWithOneAnswerHasOne) {
  const RunningServer server(folder_);
  TextClient client(server.port);
  client.send(posted("double", R"({"x":[1,2]})"));
  client.up_to("data: ");
  EXPECT_EQ(client.up_to("\n\n"),
            R"({"model_name":"double","model_version":"1","y":[2,4],"triton_final_response":true})");
}

TEST_F(Events, AFaultBeforeTheFirstPartHasAStatus) {
  const RunningServer server(folder_);
  TextClient client(server.port);
  const struct {
    const char *model, *body, *answer;
  } cases[] = {{"count", R"({"z":[1,2]})", "HTTP/1.1 400 Bad Request"},
               {"count", "{", "HTTP/1.1 400 Bad Request"},
               {"none", "{}", "HTTP/1.1 404 Not Found"},
               {"breaks", R"({"x":[5,5],"to":9})", "HTTP/1.1 400 Bad Request"}};
  for (const auto& c : cases) {
    client.send(posted(c.model, c.body));
    EXPECT_EQ(client.up_to("\r\n"), c.answer) << c.model << c.body;
    EXPECT_THAT(client.up_to("\"}"), HasSubstr(R"({"error":")"));
  }
  client.send("PUT /v2/models/count/generate_stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.up_to("\r\n"), "HTTP/1.1 405 Method Not Allowed");
}

TEST_F(Events, AFaultBehindThePartsIsOne) {
  const RunningServer server(folder_);
  TextClient client(server.port);
  client.send(posted("breaks", R"({"x":[4,4],"to":9})"));
  EXPECT_EQ(client.up_to("\r\n"), "HTTP/1.1 200 OK");
  EXPECT_THAT(client.up_to("\n\n"), HasSubstr(R"("token":[5,5]})"));
  client.up_to("data: ");
  EXPECT_THAT(client.up_to("\n\n"), StartsWith(R"({"error":"node 's': )"));
  EXPECT_EQ(client.up_to("0\r\n\r\n"), "\r\n");
  client.send(posted("count", R"({"x":[0,1]})"));
  EXPECT_THAT(client.up_to("0\r\n\r\n"), HasSubstr(kLast)) << "the connection goes on";
}

TEST_F(Events, GenerateAndInferHaveTheAnswerAlone) {
  const RunningServer server(folder_);
  TextClient client(server.port);
  const std::string body = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[0,1]}]})";
  client.send("POST /v2/models/count/generate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\n\r\n{\"x\":[0,1]}");
  client.up_to("\r\n\r\n");
  EXPECT_EQ(client.up_to("}"), R"({"model_name":"count","model_version":"1","y":[2,3],"count":2)");
  client.send("POST /v2/models/count/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body);
  client.up_to("\r\n\r\n");
  EXPECT_THAT(client.up_to("]}]}"), HasSubstr(R"("name":"count","datatype":"INT64","shape":[],"data":[2)"));
}

TEST_F(Events, AClientThatGoesEndsTheRun) {
  const RunningServer server(folder_);
  TextClient client(server.port);
  begin(client);
  client.close();
  expect_cancelled(server);
}

TEST_F(Events, ComeToSeveralClientsAtATime) {
  const RunningServer server(folder_);
  TextClient first(server.port), second(server.port);
  begin(first);
  begin(second);
  first.up_to("\n\n");
  EXPECT_FALSE(first.ended) << "though there is one worker, and no answer ends";
}

TEST_F(Events, AClientThatDoesNotReadIsGivenUp) {
  const RunningServer server(folder_);
  TextClient client(server.port, 4096);
  client.send(posted("echo", large_body()));
  expect_cancelled(server, "echo", "same");
  client.up_to("\"error\"");
  EXPECT_EQ(client.up_to("\n\n"), R"(:"the caller does not read: parts of more than 8388608 bytes wait"})");
  EXPECT_EQ(client.up_to("0\r\n\r\n"), "\r\n") << "who reads later is told why";
}

TEST_F(Events, AClientThatNeverReadsLosesItsConnection) {
  const RunningServer server(folder_, {.patience_s = 0.1});
  TextClient client(server.port, 4096);
  client.send(posted("echo", large_body()));
  server.wait_for_failures("echo", 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  client.up_to("\"error\"");
  EXPECT_TRUE(client.ended);
}

TEST_F(Events, TheServerEndsBehindTheLastOne) {
  RunningServer server(folder_);
  TextClient client(server.port);
  begin(client);
  server.begin_end();
  client.up_to("\"token\":[2000,");
  EXPECT_FALSE(client.ended);
  server.begin_end();
  client.up_to("never");
  EXPECT_TRUE(client.ended) << "a second signal cuts them off";
}

// ---- gRPC ----

std::string count_request(const char* id, std::initializer_list<float> x, std::int64_t to = 3,
                          const std::string& more = "") {
  return field(1, "count") + field(3, id) + parameter(4, "to", integer(2, to)) + more + input("x", "FP32", {1, 2}) +
         field(7, raw<float>(x));
}
/// A request with parts of so many elements.
std::string echoed(std::int64_t elements) {
  const std::string bytes(static_cast<std::size_t>(elements) * sizeof(float), '\0');
  return field(1, "echo") + input("x", "FP32", {elements}) + field(7, bytes);
}
/// A ModelStreamInferResponse.
std::string response(const char* id, bool last, const std::string& outputs) {
  return framed(field(2, field(1, "count") + field(2, "1") + field(3, id) +
                             parameter(4, "triton_final_response", integer(1, last ? 1 : 0)) + outputs));
}
std::string floats(const char* name, std::initializer_list<float> values) {
  return field(5, field(1, name) + field(2, "FP32") + integers(3, {1, 2})) + field(6, raw<float>(values));
}
std::string answer_of(std::initializer_list<float> y, std::int64_t count) {
  return field(5, field(1, "y") + field(2, "FP32") + integers(3, {1, 2})) +
         field(5, field(1, "count") + field(2, "INT64") + integers(3, {})) + field(6, raw<float>(y)) +
         field(6, raw<std::int64_t>({count}));
}

class GrpcParts : public Events {
 protected:
  /// Waits for a text in a stream's answer.
  static void wait_for(GrpcClient& client, std::int32_t id, const std::string& text) {
    std::size_t seen = 0;
    for (;;) {
      const std::string& data = client.wait(id, seen + 1);
      if (data.find(text, seen - std::min(seen, text.size())) != std::string::npos || data.size() == seen) return;
      seen = data.size();
    }
  }
};

TEST_F(GrpcParts, AreResponsesAndTheLastOneSaysSo) {
  const RunningServer server(folder_);
  GrpcClient client(server.ports.grpc);
  const auto id = client.open(kModelStreamInfer);
  client.send(id, framed(count_request("a", {0, 1})), true);
  EXPECT_EQ(client.wait(id).data, response("a", false, floats("token", {1, 2})) +
                                      response("a", false, floats("token", {2, 3})) +
                                      response("a", true, answer_of({2, 3}, 2)));
  EXPECT_EQ(client.wait(id).code(), "0");
}

TEST_F(GrpcParts, AnEmptyLastOneComesWhereTheClientWantsThat) {
  const RunningServer server(folder_);
  GrpcClient client(server.ports.grpc);
  const auto empty = [](bool wanted) {
    return parameter(4, "triton_enable_empty_final_response", integer(1, wanted ? 1 : 0));
  };
  const struct {
    std::string message, answer;
  } cases[] = {{count_request("a", {2, 2}, 3, empty(true)), response("a", false, floats("token", {3, 3})) +
                                                                response("a", false, answer_of({3, 3}, 1)) +
                                                                response("a", true, "")},
               {count_request("a", {2, 2}, 3, empty(false)),
                response("a", false, floats("token", {3, 3})) + response("a", true, answer_of({3, 3}, 1))},
               {count_request("a", {2, 2}, 3, empty(true) + field(6, field(1, "token"))),
                response("a", false, floats("token", {3, 3})) + response("a", true, "")}};
  for (const auto& c : cases) {
    const auto id = client.open(kModelStreamInfer);
    client.send(id, framed(c.message), true);
    EXPECT_EQ(client.wait(id).data, c.answer);
  }
  const auto id = client.open(kModelStreamInfer);
  client.send(id,
              framed(count_request("a", {2, 2}, 3, parameter(4, "triton_enable_empty_final_response", integer(2, 1)))),
              true);
  EXPECT_THAT(client.wait(id).data, HasSubstr("parameter triton_enable_empty_final_response: expected a bool"));
}

TEST_F(GrpcParts, AUnaryCallHasTheAnswerAlone) {
  const RunningServer server(folder_);
  GrpcClient client(server.ports.grpc);
  EXPECT_EQ(client.wait(client.call("ModelInfer", count_request("a", {0, 1}))).data,
            framed(field(1, "count") + field(2, "1") + field(3, "a") + answer_of({2, 3}, 2)));
  const auto& refused =
      client.wait(client.call("ModelInfer", count_request("a", {0, 1}) + field(6, field(1, "token"))));
  EXPECT_EQ(refused.code(), "3");
  EXPECT_THAT(refused.text(), HasSubstr("is only sent in parts"));
}

TEST_F(GrpcParts, MessagesOfAStreamAreAnsweredAtTheSameTime) {
  const RunningServer server(folder_);
  GrpcClient client(server.ports.grpc);
  const auto id = client.open(kModelStreamInfer);
  client.send(id, framed(count_request("long", {0, 1}, 100'000'000)));
  client.wait(id, 1);
  client.send(id, framed(count_request("a", {0, 1})) + framed(field(1, "none") + field(3, "b")) +
                      framed(count_request("c", {2, 2}, 3, field(6, field(1, "y")))));
  wait_for(client, id, response("c", true, floats("y", {3, 3})));
  wait_for(client, id, response("a", true, answer_of({2, 3}, 2)));
  const std::string data = client.wait(id, 0);
  const std::string in_order[] = {response("a", false, floats("token", {1, 2})),
                                  response("a", false, floats("token", {2, 3})),
                                  response("a", true, answer_of({2, 3}, 2))};
  std::size_t at = 0;
  for (const std::string& one : in_order) {
    at = data.find(one, at);
    ASSERT_NE(at, std::string::npos) << "parts of one request stay in order";
  }
  EXPECT_THAT(data, HasSubstr("there is no model 'none'"));
  client.reset(id);
  expect_cancelled(server);
}

TEST_F(GrpcParts, AFaultInTheMiddleIsTheLastMessage) {
  const RunningServer server(folder_);
  GrpcClient client(server.ports.grpc);
  const auto id = client.open(kModelStreamInfer);
  const std::string asked = field(1, "breaks") + field(3, "a") + parameter(4, "to", integer(2, 9)) +
                            input("x", "FP32", {1, 2}) + field(7, raw<float>({4, 4}));
  client.send(id, framed(asked), true);
  EXPECT_THAT(client.wait(id).data,
              testing::AllOf(HasSubstr("token"), HasSubstr("node 's'"), testing::EndsWith(field(2, field(3, "a")))));
  EXPECT_EQ(client.wait(id).code(), "0") << "the stream itself is well";
}

TEST_F(GrpcParts, AClientThatGoesEndsTheRun) {
  const RunningServer server(folder_);
  GrpcClient client(server.ports.grpc);
  const auto id = client.open(kModelStreamInfer);
  client.send(id, framed(count_request("a", {0, 1}, 100'000'000)), true);
  client.wait(id, 1000);
  client.close();
  expect_cancelled(server);
}

TEST_F(GrpcParts, AClientThatDoesNotReadIsGivenUp) {
  const RunningServer server(folder_);
  GrpcClient client(server.ports.grpc);
  const auto id = client.open(kModelStreamInfer);
  client.send(id, framed(echoed(10'000)));
  expect_cancelled(server, "echo", "same");
  EXPECT_EQ(client.wait(id).code(), "8");
  EXPECT_EQ(client.wait(id).text(), "the client does not read: parts of more than 8388608 bytes wait");
  EXPECT_EQ(client.wait(client.call("ServerLive", "")).code(), "0") << "the connection goes on";
}

TEST_F(GrpcParts, AreBehindTheClientsWindowWhereItReads) {
  folder_.write("echo.yaml", std::string(kEcho).replace(std::string(kEcho).find("100000"), 6, "100"));
  const RunningServer server(folder_);
  GrpcClient client(server.ports.grpc);
  const auto id = client.open(kModelStreamInfer);
  client.send(id, framed(echoed(10'000)), true);
  EXPECT_EQ(client.wait(id).code(), "0");
  EXPECT_GT(client.wait(id).data.size(), 4'000'000U) << "a hundred parts, and several windows";
}

/// A frame may end anywhere in a message and its prefix of five bytes.
TEST_F(GrpcParts, AreWholeInWindowsSmallerThanAPrefix) {
  const RunningServer server(folder_);
  std::string whole;
  for (const std::uint32_t window : {100U, 1U, 2U, 3U, 4U, 5U, 6U}) {
    GrpcClient client(server.ports.grpc);
    client.set_window(window);
    const auto answer = client.wait(client.call("ServerReady", ""));
    EXPECT_EQ(answer.code(), "0") << window;
    if (whole.empty()) whole = answer.data;
    EXPECT_EQ(answer.data, whole) << window;
  }
  EXPECT_GT(whole.size(), 5U);
}

// ---- a client that others wrote ----

TEST_F(Events, ReachPythonAsTheyAreMade) {
  if (std::system("python3 -c 'import http.client' 2>/dev/null") != 0) GTEST_SKIP() << "there is no Python";
  const RunningServer server(folder_);
  const TempFolder logs;
  const std::string out = logs / "out", script = (source_dir() / "tests/server/http_clients/stream.py").string();
  const std::string command =
      "timeout 120 python3 -B " + script + " " + std::to_string(server.port) + " >" + out + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << content_of(out);
  server.wait_for_failures("count", 3);
}

}  // namespace
}  // namespace frazil::test
