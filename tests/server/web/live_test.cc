// The live view: its snapshots, its events over HTTP, its files.
#include "server/web/live.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "server/asked.h"
#include "server/config/config_yaml.h"
#include "server/running.h"
#include "server/service/path_log.h"
#include "server/web/live_stream.h"

namespace frazil::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kPipeline =
    "inputs: {x: 'f32[N,2]'}\nsteps:\n  - name: out\n    switch:\n"
    "      - {name: small, when: max(x) < 10, model: double, inputs: {x: x}}\n"
    "      - {name: large, model: triple, inputs: {x: x}}\n"
    "  - name: again\n    loop:\n      start: {v: out.y}\n      most: 3\n      steps:\n"
    "        - {name: more, model: double, inputs: {x: v}}\n      next: {v: more.y}\n"
    "  - name: seen\n    shadow: {share: 1, model: triple, inputs: {x: x}}\n"
    "outputs: {y: again.v}\n";

class Live : public testing::Test {
 protected:
  Live() {
    folder_.add("double", kDouble);
    folder_.add("triple", kTriple);
    folder_.add("count", kCount);
    folder_.write("p.yaml", kPipeline);
    options_ = options_of(folder_);
    options_.workers = 2;
    options_.config.paths.inputs = true;
  }
  static void ask_pipeline(server::Service& service, float value) {
    floats_of(ask(service, {.model = "p", .inputs = {{"x", row({1, value})}}}).get());
  }
  static json model_of(const json& snapshot, std::string_view name) {
    for (const json& model : snapshot.at("models")) {
      if (model.at("name") == name) return model;
    }
    ADD_FAILURE() << "no model " << name;
    return {};
  }

  Folder folder_;
  server::ServiceOptions options_;
};

TEST_F(Live, SnapshotsTellWhatHasHappenedSinceTheLastOne) {
  server::Service service(options_);
  server::LiveView view(service);
  floats_of(ask(service, {.model = "double", .inputs = {{"x", row({1, 2})}}}).get());
  const json first = json::parse(view.snapshot(0));
  EXPECT_EQ(first.at("seconds"), 0);
  EXPECT_FALSE(model_of(first, "double").contains("interval"));
  EXPECT_EQ(model_of(first, "double").at("success"), 1);
  EXPECT_GT(first.at("resident_bytes"), 1'000'000);
  for (int i = 0; i < 4; ++i) floats_of(ask(service, {.model = "double", .inputs = {{"x", row({1, 2})}}}).get());
  EXPECT_FALSE(ask(service, {.model = "double", .inputs = {{"z", row({1})}}}).get());
  const json second = json::parse(view.snapshot(7));
  EXPECT_EQ(second.at("dropped"), 7);
  const json model = model_of(second, "double"), interval = model.at("interval");
  EXPECT_EQ(model.at("success"), 5);
  EXPECT_EQ(model.at("fail"), 1);
  EXPECT_EQ(model.at("pending"), 0);
  EXPECT_EQ(model.at("batches"), json({{"1", 5}}));
  EXPECT_EQ(interval.at("requests"), 5);
  EXPECT_EQ(interval.at("batch"), 1);
  EXPECT_GT(interval.at("per_second"), 0);
  EXPECT_GT(interval.at("run_us"), 0);
  EXPECT_LE(interval.at("p50_us"), interval.at("p99_us"));
  EXPECT_EQ(model_of(second, "triple").at("interval"), json({{"requests", 0}, {"per_second", 0.0}}));
  EXPECT_EQ(model_of(json::parse(view.snapshot(7)), "double").at("interval").at("requests"), 0);
}

TEST_F(Live, APipelineIsATreeWithTheTrafficOfItsBranches) {
  server::Service service(options_);
  for (int i = 0; i < 3; ++i) ask_pipeline(service, 2);
  ask_pipeline(service, 20);
  while (service.models().find("triple", "")->statistics().success.count() < 5)
    std::this_thread::sleep_for(milliseconds(1));
  server::LiveView view(service);
  const json pipeline = model_of(json::parse(view.snapshot(0)), "p"), nodes = pipeline.at("nodes");
  EXPECT_EQ(pipeline.at("platform"), "frazil_pipeline");
  ASSERT_EQ(nodes.size(), 3U);
  const json& choice = nodes[0];
  EXPECT_EQ(choice.at("kind"), "switch");
  EXPECT_EQ(choice.at("calls"), 4);
  EXPECT_EQ(choice.at("in_flight"), 0);
  EXPECT_GT(choice.at("time_ns"), 0);
  const json &small = choice.at("branches")[0], &large = choice.at("branches")[1];
  EXPECT_EQ(small.at("name"), "small");
  EXPECT_EQ(small.at("rule"), "max(x) < 10");
  EXPECT_EQ(small.at("taken"), 3);
  EXPECT_EQ(small.at("nodes")[0].at("model"), "double");
  EXPECT_EQ(small.at("nodes")[0].at("calls"), 3);
  EXPECT_EQ(large.at("rule"), "otherwise");
  EXPECT_EQ(large.at("taken"), 1);
  EXPECT_EQ(nodes[1].at("branches")[0].at("taken"), 12) << "three rounds for each of four requests";
  EXPECT_EQ(nodes[2].at("kind"), "shadow");
  EXPECT_EQ(nodes[2].at("branches")[0].at("taken"), 4);
}

TEST_F(Live, NodesTellWhatIsInFlight) {
  folder_.write("slow.yaml",
                "inputs: {n: 'i64[]'}\nsteps:\n  - {name: run, model: count, inputs: {n: n}}\noutputs: {y: run.y}\n");
  server::Service service(options_);
  const auto caller = std::make_shared<server::Caller>();
  auto outcome = ask(
      service, {.model = "slow", .inputs = {{"n", api::Array::scalar(std::int64_t{2'000'000'000})}}, .caller = caller});
  server::LiveView view(service);
  const auto node = [&] { return model_of(json::parse(view.snapshot(0)), "slow").at("nodes")[0]; };
  while (node().at("in_flight") != 1) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(model_of(json::parse(view.snapshot(0)), "count").at("pending"), 1);
  caller->leave();
  EXPECT_FALSE(outcome.get());
  EXPECT_EQ(node().at("in_flight"), 0);
  EXPECT_EQ(node().at("failed"), 0) << "nobody waits for it any more";
}

TEST_F(Live, TheLatestPathsAreThere) {
  server::Service service(options_);
  for (int i = 0; i < 30; ++i) ask_pipeline(service, 2);
  server::LiveView view(service);
  const json paths = json::parse(view.snapshot(0)).at("paths");
  ASSERT_EQ(paths.size(), 20U);
  EXPECT_EQ(paths[0].at("number"), 30);
  EXPECT_EQ(paths[0].at("model"), "p");
  EXPECT_EQ(paths[0].at("status"), 200);
  EXPECT_EQ(paths[0].at("taken")[0], "out: small");
}

TEST(FineHistogram, BucketsAreASixteenthWide) {
  using server::FineHistogram;
  for (std::int64_t ns = 256; ns < 60'000'000'000; ns += ns / 7 + 1) {
    FineHistogram times;
    times.add(std::chrono::nanoseconds(ns));
    const auto counts = times.counts();
    const auto bucket = static_cast<std::size_t>(std::ranges::find(counts, 1U) - counts.begin());
    ASSERT_LT(bucket, counts.size());
    const std::int64_t least = FineHistogram::least(bucket).count();
    EXPECT_LE(least, ns);
    EXPECT_LE(ns - least, std::max<std::int64_t>(ns / 16, 256)) << ns;
  }
  FineHistogram longest;
  longest.add(std::chrono::hours(1000));
  EXPECT_EQ(longest.counts().back(), 1U);
}

TEST_F(Live, RedactedValuesAreNowhere) {
  options_.config.paths.redact = {"x"};
  server::Service service(options_);
  ask_pipeline(service, 7.251953125F);
  server::JsonText text;
  server::write_record(text, *service.paths().find(1), true);
  const std::string shown = text.take();
  EXPECT_THAT(shown, HasSubstr(R"x("inputs":{"x":"(redacted)"})x"));
  EXPECT_THAT(shown, HasSubstr(R"x("taken":"small","why":"(redacted)")x"));
  EXPECT_THAT(shown, Not(HasSubstr("7.251953"))) << "neither the input nor what the formula was true for";
  EXPECT_THAT(shown, HasSubstr(R"x("outputs":{"y":"f32[1,2])x"));
  EXPECT_EQ(service.paths().find(1)->inputs.at(0).second.values<float>()[1], 7.251953125F) << "kept for replays";
}

TEST(Redaction, IsConfigured) {
  const auto config = server::read_server_config_text("paths: {inputs: true, redact: [image, embedding]}", "c.yaml");
  EXPECT_THAT(config.paths.redact, testing::ElementsAre("image", "embedding"));
}

TEST(Redaction, HidesReasonsThatNameAValue) {
  server::RequestRecord record{.steps = {{.kind = "switch", .why = "max(first.image) < 1 is true for 0.5"},
                                         {.kind = "switch", .why = "max(images) < 1 is true for 0.25"},
                                         {.kind = "split", .why = "'a key' gives 0.5", .key = "a key"},
                                         {.kind = "split", .why = "drew 0.5"}}};
  server::redact(record, {"image"});
  std::vector<std::string> whys;
  for (const auto& step : record.steps) whys.push_back(step.why);
  EXPECT_THAT(whys, testing::ElementsAre("(redacted)", "max(images) < 1 is true for 0.25", "(redacted)", "drew 0.5"));
}

// ---- over HTTP ----

/// The data of the next event.
json next_event(TextClient& client) {
  const std::string event = client.up_to("\n\n");
  EXPECT_THAT(event, StartsWith("data: "));
  return json::parse(event.substr(6));
}

TEST_F(Live, EventsComeAtOnceAndThenOneEachInterval) {
  RunningServer server(options_);
  TextClient client(server.port);
  const auto begun = server::Clock::now();
  client.get("/v2/live/events?every_ms=200");
  const std::string head = client.up_to("\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(head, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(head, HasSubstr("Cache-Control: no-store"));
  EXPECT_EQ(next_event(client).at("seconds"), 0);
  ask_pipeline(server.service, 2);
  const json second = next_event(client);
  EXPECT_NEAR(second.at("seconds"), 0.2, 0.15);
  EXPECT_EQ(model_of(second, "p").at("interval").at("requests"), 1);
  next_event(client);
  EXPECT_GE(server::Clock::now() - begun, milliseconds(390));
}

TEST_F(Live, TheStreamEndsWithTheServer) {
  RunningServer server(options_);
  TextClient client(server.port);
  client.get("/v2/live/events?every_ms=10000");
  client.up_to("\n\n");
  const auto begun = server::Clock::now();
  server.end();
  EXPECT_LT(server::Clock::now() - begun, milliseconds(900)) << "no interval is waited for";
  EXPECT_EQ(client.up_to("\n\n"), "event: end\ndata: {}");
  client.up_to("\n\n");
  EXPECT_TRUE(client.ended);
}

TEST_F(Live, ASlowClientMissesSnapshotsAndHoldsUpNobody) {
  for (int i = 0; i < 60; ++i) folder_.add("other" + std::to_string(i), kDouble);
  RunningServer server(options_, {.patience_s = 60});
  TextClient slow(server.port, 4096), quick(server.port);
  slow.get("/v2/live/events?every_ms=100");
  quick.get("/v2/live/events?every_ms=100");
  quick.up_to("\r\n\r\n");
  for (int i = 0; i < 25; ++i) EXPECT_EQ(next_event(quick).at("dropped"), 0);
  slow.up_to("\r\n\r\n");
  std::uint64_t dropped = 0;
  for (int i = 0; dropped == 0 && i < 30; ++i) dropped = next_event(slow).at("dropped");
  EXPECT_GT(dropped, 0U);
}

TEST_F(Live, AClientThatTakesNothingIsGivenUp) {
  for (int i = 0; i < 60; ++i) folder_.add("other" + std::to_string(i), kDouble);
  RunningServer server(options_, {.patience_s = 0.5});
  TextClient stuck(server.port, 4096);
  stuck.get("/v2/live/events?every_ms=100");
  std::this_thread::sleep_for(milliseconds(3500));
  const auto begun = server::Clock::now();
  while (!stuck.ended) stuck.up_to("\n\n");
  EXPECT_LT(server::Clock::now() - begun, milliseconds(1000)) << "it was closed before it read";
}

TEST_F(Live, ClientsAreLimited) {
  RunningServer server(options_);
  std::vector<std::unique_ptr<TextClient>> clients;
  for (std::size_t i = 0; i < server::kMaxLiveClients; ++i) {
    clients.push_back(std::make_unique<TextClient>(server.port));
    clients.back()->get("/v2/live/events");
    EXPECT_THAT(clients.back()->up_to("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  }
  TextClient more(server.port);
  more.get("/v2/live/events");
  EXPECT_THAT(more.up_to("}"), testing::AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("16 clients")));
  clients.pop_back();
  std::string head;
  for (int i = 0; i < 100 && !head.starts_with("HTTP/1.1 200"); ++i) {
    std::this_thread::sleep_for(milliseconds(5));
    TextClient next(server.port);
    next.get("/v2/live/events", "Connection: close\r\n");
    head = next.up_to("\r\n\r\n");
  }
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200")) << "the place of one that has gone is free";
}

TEST_F(Live, FilesAreServedWithAPolicyAndOthersAreNot) {
  const RunningServer server(options_);
  const auto head = [&](std::string_view target) {
    TextClient client(server.port);
    client.get(target);
    return client.up_to("\r\n\r\n");
  };
  for (const char* target : {"/v2/live", "/v2/live/live.js", "/v2/live/live.css"}) {
    const std::string answer = head(target);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'"));
    EXPECT_THAT(answer, HasSubstr("Cache-Control: no-store"));
  }
  EXPECT_THAT(head("/v2/live/"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(head("/v2/live/../secret"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(head("/v2/lively"), StartsWith("HTTP/1.1 404"));
  for (const char* query : {"every_ms=99", "every_ms=10001", "every_ms=1s", "often=1"}) {
    EXPECT_THAT(head("/v2/live/events?" + std::string(query)), StartsWith("HTTP/1.1 400")) << query;
  }
}

TEST_F(Live, EventsNeedAKeyWhereThereAreTenants) {
  options_.config.tenants = {{.name = "a", .keys = {"secret"}}};
  const RunningServer server(options_);
  TextClient stranger(server.port), known(server.port), page(server.port);
  stranger.get("/v2/live/events");
  EXPECT_THAT(stranger.up_to("\r\n\r\n"), StartsWith("HTTP/1.1 401"));
  known.get("/v2/live/events", "Authorization: Bearer secret\r\n");
  EXPECT_THAT(known.up_to("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  page.get("/v2/live");
  EXPECT_THAT(page.up_to("\r\n\r\n"), StartsWith("HTTP/1.1 200")) << "it asks for the key";
}

}  // namespace
}  // namespace frazil::test
