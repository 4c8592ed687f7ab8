// The service over gRPC: calls, streams, limits, callers that go, the end; and clients that others wrote.
#include <csignal>
#include <cstdlib>
#include <future>
#include <thread>

#include <gmock/gmock.h>

#include "server/grpc_client.h"
#include "server/grpc_encode.h"
#include "server/running.h"
#include "server/server.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Answer = GrpcClient::Answer;

std::string doubled(const char* id, std::initializer_list<float> values = {1, 2}) {
  return field(1, "double") + field(3, id) + input("x", "FP32", {1, 2}) + field(7, raw<float>(values));
}
std::string counted_rounds(std::int64_t rounds) {
  return field(1, "count") + input("n", "INT64", {}) + field(7, raw<std::int64_t>({rounds}));
}
const std::string kHead = field(1, "double") + field(2, "1") + field(3, "a"),
                  kOutput =
                      field(5, field(1, "y") + field(2, "FP32") + integers(3, {1, 2})) + field(6, raw<float>({2, 4})),
                  kAnswer = kHead + kOutput;
constexpr std::int64_t kLongCount = 2'000'000'000;

class GrpcServer : public testing::Test {
 protected:
  GrpcServer() {
    folder_.add("double", kDouble);
    folder_.add("count", kCount);
  }
  Folder folder_;
};

TEST_F(GrpcServer, AnswersCallsOnAConnection) {
  const RunningServer server(folder_, {});
  GrpcClient client(server.ports.grpc);
  const auto first = client.call("ModelInfer", doubled("a")), second = client.call("ServerReady", "");
  EXPECT_EQ(client.wait(first).code(), "0") << client.wait(first).text();
  EXPECT_EQ(client.wait(first).data, framed(kAnswer));
  EXPECT_EQ(client.wait(first).headers.at("content-type"), "application/grpc");
  EXPECT_EQ(client.wait(second).data, framed(integer(1, 1)));
}

TEST_F(GrpcServer, TakesBytesAsTheyCome) {
  const RunningServer server(folder_, {});
  GrpcClient client(server.ports.grpc);
  const auto id = client.open(kModelInfer);
  for (const char byte : framed(doubled("a"))) client.send(id, {&byte, 1});
  client.send(id, "", true);
  EXPECT_EQ(client.wait(id).data, framed(kAnswer));
}

TEST_F(GrpcServer, RefusesWhatIsNoCall) {
  const RunningServer server(folder_, {.max_bytes = 1000});
  const std::string good = framed(doubled("a"));
  const struct {
    HeaderList headers;
    std::string body;
    const char* code;
    const char* why;
  } cases[] = {
      {{{":path", "/inference.GRPCInferenceService/Fly"}}, good, "12", "method '/inference.GRPCInferenceService/Fly'"},
      {{{"grpc-timeout", "1x"}}, good, "3", "header grpc-timeout"},
      {{{"grpc-timeout", "0n"}}, good, "4", "the time-out has passed"},
      {{{"long", std::string(20'000, 'x')}}, good, "8", "the headers have more than 16384 bytes"},
      {{}, framed(doubled("a"), 1), "13", "a message has the flag of a compressed one"},
      {{}, framed(doubled("a"), 2), "3", "a flag that is not 0 or 1"},
      {{}, framed(std::string(1001, 'x')), "8", "the message has more than 1000 bytes"},
      {{}, std::string("\0\xff\xff\xff\xff", 5), "8", "the message has more than 1000 bytes"},
      {{}, good + good, "3", "the request has more than one message"},
      {{}, "", "3", "the request has no message"},
      {{}, good.substr(0, 20), "3", "the message is cut off"},
      {{}, framed("\x0a\xff"), "3", "field 'model_name' is damaged"},
      {{}, framed(field(1, "none")), "5", "there is no model 'none'"},
  };
  GrpcClient client(server.ports.grpc);
  for (const auto& c : cases) {
    const auto id = client.open(kModelInfer, c.headers);
    client.send(id, c.body, true);
    const Answer& answer = client.wait(id);
    EXPECT_EQ(answer.headers.at(":status"), "200");
    EXPECT_EQ(answer.code(), c.code) << c.why;
    EXPECT_THAT(answer.text(), HasSubstr(c.why));
    EXPECT_EQ(answer.headers.at("grpc-accept-encoding"), "gzip, deflate, identity");
  }
  EXPECT_EQ(client.wait(client.call("ModelInfer", doubled("a"))).code(), "0") << "the connection goes on";
}

TEST_F(GrpcServer, TellsOtherProtocolsByHttpStatus) {
  const RunningServer server(folder_, {});
  GrpcClient client(server.ports.grpc);
  const auto page = client.open(kModelInfer, {{"content-type", "application/json"}}),
             get = client.open(kModelInfer, {{":method", "GET"}});
  EXPECT_EQ(client.wait(page).headers.at(":status"), "415");
  EXPECT_EQ(client.wait(get).headers.at(":status"), "405");
  GrpcClient plain(server.ports.grpc);
  plain.send_plain("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  plain.wait_for_end();
}

TEST_F(GrpcServer, TellsWhoStillSendsThatNobodyListens) {
  const RunningServer server(folder_, {});
  GrpcClient client(server.ports.grpc);
  const auto id = client.open("/none/None");
  const Answer& answer = client.wait(id);
  EXPECT_EQ(answer.code(), "12");
  EXPECT_TRUE(answer.closed) << "though the client has not ended its side";
  EXPECT_EQ(answer.error, std::uint32_t{NGHTTP2_NO_ERROR});
}

// ---- streams ----

/// A response to a message of a stream: head and outputs, and whether it is the last one.
std::string stream_response(const std::string& head, const std::string& outputs, bool last) {
  return framed(field(2, head + parameter(4, "triton_final_response", integer(1, last ? 1 : 0)) + outputs));
}
const std::string kStreamAnswer = stream_response(kHead, kOutput, true);

TEST_F(GrpcServer, AnswersMessagesOfAStreamInOrder) {
  const RunningServer server(folder_, {});
  GrpcClient client(server.ports.grpc);
  const auto id = client.open(kModelStreamInfer);
  client.send(id, framed(counted_rounds(100'000)) + framed(doubled("a")) + framed(field(1, "none") + field(3, "b")));
  const std::string error = framed(field(1, "there is no model 'none'") + field(2, field(3, "b")));
  client.send(id, framed(doubled("a")), true);
  const Answer& answer = client.wait(id);
  EXPECT_EQ(answer.code(), "0");
  EXPECT_THAT(answer.data, testing::EndsWith(kStreamAnswer + error + kStreamAnswer))
      << "what fails is told, and the stream goes on";
}

TEST_F(GrpcServer, AnswersAMessageBeforeTheNextOneComes) {
  const RunningServer server(folder_, {});
  GrpcClient client(server.ports.grpc);
  const auto id = client.open(kModelStreamInfer);
  const std::string one = kStreamAnswer;
  for (std::size_t i = 1; i <= 3; ++i) {
    client.send(id, framed(doubled("a")));
    EXPECT_EQ(client.wait(id, i * one.size()).size(), i * one.size());
  }
  client.send(id, framed("").substr(0, 3), true);
  EXPECT_EQ(client.wait(id).code(), "3") << "the last one is cut off";
}

TEST_F(GrpcServer, HoldsStreamsBackThatSendTooFast) {
  const RunningServer server(folder_, {});
  GrpcClient client(server.ports.grpc);
  const std::string large = framed(doubled("a") + field(99, std::string(100'000, 'x')));
  std::string all;
  for (int i = 0; i < 50; ++i) all += large;
  const auto held = client.open(kModelStreamInfer);
  client.send(held, framed(counted_rounds(kLongCount)) + all);
  client.settle();
  EXPECT_GT(client.unsent(held), all.size() / 2) << "what runs is not finished";
  const auto quick = client.open(kModelStreamInfer);
  client.send(quick, all, true);
  EXPECT_EQ(client.wait(client.call("ServerLive", "")).code(), "0") << "others are not held back";
  client.reset(held);
  EXPECT_EQ(client.wait(quick).code(), "0");
  EXPECT_EQ(client.wait(quick).data.size(), 50 * kStreamAnswer.size());
}

// ---- callers that go, deadlines, overload ----

TEST_F(GrpcServer, EndsRunsOfCallersThatGo) {
  const RunningServer server(folder_, {});
  GrpcClient reset(server.ports.grpc), gone(server.ports.grpc);
  const auto id = reset.call("ModelInfer", counted_rounds(kLongCount));
  server.wait_for_start("count");
  reset.reset(id);
  server.wait_for_failures("count", 1);
  gone.call("ModelInfer", counted_rounds(kLongCount));
  server.wait_for_start("count");
  gone.close();
  server.wait_for_failures("count", 2);
  EXPECT_EQ(reset.wait(reset.call("ModelInfer", doubled("a"))).code(), "0") << "the only worker is free again";
}

TEST_F(GrpcServer, EndsRunsAtTheDeadline) {
  const RunningServer server(folder_, {});
  GrpcClient client(server.ports.grpc);
  EXPECT_EQ(client.wait(client.call("ModelInfer", counted_rounds(kLongCount), {{"grpc-timeout", "50m"}})).code(), "4");
  EXPECT_EQ(
      client.wait(client.call("ModelInfer", counted_rounds(kLongCount) + parameter(4, "timeout", integer(2, 50'000))))
          .code(),
      "4");
}

TEST_F(GrpcServer, RefusesWhatItCannotTakeInTime) {
  const RunningServer server(folder_, {}, 1);
  GrpcClient client(server.ports.grpc);
  const auto first = client.call("ModelInfer", counted_rounds(kLongCount));
  const auto second = client.call("ModelInfer", doubled("a"));
  EXPECT_EQ(client.wait(second).code(), "8");
  EXPECT_EQ(client.wait(client.call("ServerLive", "")).code(), "0");
  server.wait_for_start("count");
  client.reset(first);
  server.wait_for_failures("count", 1);
}

TEST_F(GrpcServer, RefusesBeforeAMessageIsSent) {
  const RunningServer server(folder_, {}, 1);
  GrpcClient running(server.ports.grpc), client(server.ports.grpc);
  running.call("ModelInfer", counted_rounds(kLongCount));
  server.wait_for_start("count");
  const Answer& answer = client.wait(client.open(kModelInfer));
  EXPECT_EQ(answer.code(), "8");
  EXPECT_THAT(answer.text(), HasSubstr("too many requests wait"));
}

TEST_F(GrpcServer, GivesUpWhatIsSlow) {
  const RunningServer server(folder_, {.patience_s = 0.05});
  GrpcClient client(server.ports.grpc);
  const auto id = client.open(kModelInfer);
  client.send(id, "\0\0");
  EXPECT_EQ(client.wait(id).code(), "4");
  EXPECT_EQ(client.wait_for_end(), "NO_ERROR") << "an idle connection is closed";
}

TEST_F(GrpcServer, KeepsOpenStreamsWithoutMessages) {
  const RunningServer server(folder_, {.patience_s = 0.05});
  GrpcClient client(server.ports.grpc);
  const auto id = client.open(kModelStreamInfer);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (std::chrono::steady_clock::now() < until) {
    client.ping();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  client.send(id, framed(doubled("a")), true);
  EXPECT_EQ(client.wait(id).code(), "0");
}

// ---- clients that mean harm ----

TEST_F(GrpcServer, ClosesConnectionsThatDoNothingAtAHighRate) {
  const RunningServer server(folder_, {});
  GrpcClient pings(server.ports.grpc), empty(server.ports.grpc), resets(server.ports.grpc);
  for (int i = 0; i < 2000; ++i) pings.ping();
  // What the client still sends may have the system drop the reason on its way.
  EXPECT_THAT(pings.wait_for_end(), testing::AnyOf("ENHANCE_YOUR_CALM", ""));
  const auto id = static_cast<char>(empty.open(kModelInfer));
  std::string frames;
  for (int i = 0; i < 2000; ++i) frames += std::string{0, 0, 0, NGHTTP2_DATA, 0, 0, 0, 0, id};
  empty.send_plain(frames);
  EXPECT_THAT(empty.wait_for_end(), testing::AnyOf("ENHANCE_YOUR_CALM", ""));
  for (int i = 0; i < 3000; ++i) resets.reset(resets.open(kModelInfer));
  EXPECT_THAT(resets.wait_for_end(), testing::AnyOf("INTERNAL_ERROR", ""));
}

TEST_F(GrpcServer, BoundsWhatItHoldsForAConnection) {
  const RunningServer server(folder_, {.max_bytes = 100'000});
  GrpcClient client(server.ports.grpc);
  const std::string part = framed(std::string(100'000, 'x')).substr(0, 90'000);
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 6; ++i) {
    ids.push_back(client.open(kModelInfer));
    client.send(ids.back(), part);
  }
  EXPECT_EQ(client.wait(ids[4]).code(), "8");
  EXPECT_THAT(client.wait(ids[4]).text(), HasSubstr("the connection's messages have more than 400000 bytes"));
}

TEST_F(GrpcServer, RefusesAMessageThatHasNoRoomBeforeItComes) {
  const RunningServer server(folder_, {.max_buffered = 100'000});
  GrpcClient client(server.ports.grpc);
  const auto id = client.open(kModelInfer);
  client.send(id, framed(std::string(100'001, 'x')).substr(0, 5));
  EXPECT_EQ(client.wait(id).code(), "14");
  EXPECT_THAT(client.wait(id).text(), HasSubstr("more than 100000 bytes"));
  EXPECT_EQ(client.wait(client.call("ModelInfer", doubled("a"))).code(), "0");
}

// ---- the end ----

TEST_F(GrpcServer, AnswersWhatHasArrivedBeforeItEnds) {
  RunningServer server(folder_, {});
  GrpcClient idle(server.ports.grpc), busy(server.ports.grpc);
  const auto stream = busy.open(kModelStreamInfer), running = busy.call("ModelInfer", counted_rounds(3'000'000));
  server.wait_for_start("count");
  server.begin_end();
  EXPECT_EQ(idle.wait_for_end(), "NO_ERROR");
  EXPECT_EQ(busy.wait(running).code(), "0");
  EXPECT_EQ(busy.wait(stream).code(), "14") << "a stream that waits for messages could go on for ever";
  EXPECT_EQ(busy.wait_for_end(), "NO_ERROR");
}

TEST_F(GrpcServer, ASecondSignalEndsRuns) {
  RunningServer server(folder_, {});
  GrpcClient client(server.ports.grpc), idle(server.ports.grpc);
  client.call("ModelInfer", counted_rounds(kLongCount));
  server.wait_for_start("count");
  server.begin_end();
  idle.wait_for_end();
  server.begin_end();
  client.wait_for_end();
}

// ---- other clients ----

constexpr const char* kTypes =
    "graph g(%b: bool[1], %i: i8[2], %u: u64[1], %h: f16[2], %d: f64[1], %s: string[2]) {"
    "%1 = Identity(%b) %2 = Identity(%i) %3 = Identity(%u) %4 = Identity(%h) %5 = Identity(%d)"
    "%6 = Identity(%s) return ob = %1, oi = %2, ou = %3, oh = %4, od = %5, os = %6 }";

class OtherClients : public GrpcServer {
 protected:
  OtherClients() {
    folder_.add("types", kTypes);
    folder_.add("one", "graph g(%x: f32[N,2]) { %y = Add(%x, f32[] 1) return y = %y }");
    folder_.write("talk.yaml",
                  "inputs: {x: 'f32[N,2]'}\nsteps:\n  - name: out\n    loop:\n      start: {y: x}\n"
                  "      while: min(y) + 1 < param('to', 3)\n      steps: [{name: s, model: one, inputs: {x: y}}]\n"
                  "      next: {y: s.y}\n      emit: {token: y}\noutputs: {y: out.y, count: out.count}\n");
  }
  static bool succeeds(const std::string& command) { return std::system(command.c_str()) == 0; }
  /// Runs a client's command followed by the server's port; it prints what is not as expected.
  void run(const std::string& command) const {
    RunningServer server(folder_, {});
    const std::string out = logs_ / "out";
    const bool good = succeeds(command + " " + std::to_string(server.ports.grpc) + " >" + out + " 2>&1");
    EXPECT_TRUE(good) << content_of(out);
  }
  static std::string script(const char* name) { return (source_dir() / "tests/server/grpc_clients" / name).string(); }
  TempFolder logs_;
};

TEST_F(OtherClients, Python) {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    if (succeeds(std::string(python) + " -c 'import grpc, google.protobuf' 2>/dev/null")) {
      return run("timeout 120 " + std::string(python) + " -B " + script("client.py"));
    }
  }
  GTEST_SKIP() << "no gRPC for Python: install python3-grpcio and python3-protobuf";
}

TEST_F(OtherClients, Node) {
  const std::string packages = std::filesystem::temp_directory_path() / "frazil-grpc-clients";
  if (!succeeds("timeout 120 " + script("install.sh") + " " + packages)) {
    GTEST_SKIP() << "no @grpc/grpc-js: npm or its registry cannot be reached";
  }
  run("NODE_PATH=" + packages + "/node_modules timeout 120 node " + script("client.js"));
}

}  // namespace
}  // namespace frazil::test
