// What is kept of a request's way, and running it again.
#include <cmath>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "server/asked.h"
#include "server/model/reference_check.h"
#include "server/rest_asked.h"
#include "server/service/otlp.h"
#include "server/service/path_log.h"

namespace frazil::test {
namespace {

using server::Http;
using server::Reply;
using testing::HasSubstr;
using testing::Not;

class Paths : public testing::Test {
 protected:
  Paths() {
    folder_.add("double", kDouble);
    folder_.add("triple", kTriple);
    folder_.write("p.yaml",
                  "inputs: {x: 'f32[N,2]'}\nsteps:\n  - name: out\n    switch:\n"
                  "      - {name: small, when: max(x) < 10, model: double, inputs: {x: x}}\n"
                  "      - {name: large, model: triple, inputs: {x: x}}\n"
                  "  - name: arm\n    split:\n      arms:\n"
                  "        - {name: a, share: 0.5, model: double, inputs: {x: out.y}}\n"
                  "        - {name: b, share: 0.5, model: triple, inputs: {x: out.y}}\noutputs: {y: arm.y}\n");
    server::ServiceOptions options = options_of(folder_);
    options.config.paths.inputs = true;
    service_.emplace(options);
  }
  Reply send(std::string_view method, std::string_view path, std::string_view query = "", std::string_view body = "") {
    return reply_to(*service_, {.method = method, .path = path, .query = query, .body = body});
  }
  Folder folder_;
  std::optional<server::Service> service_;
};

TEST_F(Paths, TellWhatRanAndWhy) {
  floats_of(ask(*service_, {.model = "p", .inputs = {{"x", row({1, 2})}}}).get());
  const std::string path = send("GET", "/v2/paths/1").body;
  EXPECT_THAT(path, HasSubstr(R"("model":"p","version":"1","digest":"sha256:)"));
  EXPECT_THAT(path, HasSubstr(R"("node":"out","taken":"small","why":"max(x) < 10 is true for 2")"));
  EXPECT_THAT(path, HasSubstr(R"("kind":"run","node":"out.small","model":"double","version":"1")"));
  EXPECT_THAT(path, HasSubstr(R"x("inputs":{"x":"f32[1,2])x"));
}

TEST_F(Paths, AreFound) {
  floats_of(ask(*service_, {.model = "p", .inputs = {{"x", row({1, 2})}}}).get());
  floats_of(ask(*service_, {.model = "p", .inputs = {{"x", row({1, 20})}}}).get());
  EXPECT_FALSE(ask(*service_, {.model = "double", .inputs = {{"z", row({1})}}}).get());
  const auto numbers = [&](std::string_view query) {
    const std::string body = send("GET", "/v2/paths", query).body;
    std::string found;
    for (std::size_t at = 0; (at = body.find("{\"number\":", at)) != std::string::npos; ++at) found += body[at + 10];
    return found;
  };
  EXPECT_EQ(numbers(""), "321");
  EXPECT_EQ(numbers("limit=1"), "3");
  EXPECT_EQ(numbers("taken=large"), "2");
  EXPECT_EQ(numbers("model=p"), "21");
  EXPECT_EQ(numbers("error=no%20input"), "3");
  EXPECT_EQ(numbers("node=out.large"), "2");
  EXPECT_EQ(numbers("node=none"), "");
  EXPECT_EQ(numbers("after=1"), "32");
  EXPECT_EQ(numbers("after=1&node=out"), "2");
  EXPECT_EQ(numbers("slower_us=100000000"), "");
  EXPECT_EQ(send("GET", "/v2/paths", "color=red").status, Http::bad_request);
  EXPECT_EQ(send("GET", "/v2/paths/9").status, Http::not_found);
  EXPECT_EQ(send("POST", "/v2/paths/9/replay").status, Http::not_found);
}

/// A request that takes a branch in each of 450 rounds.
constexpr const char* kRounds =
    "inputs: {x: 'f32[N,2]'}\nsteps:\n  - name: again\n    loop:\n      start: {v: x}\n      most: 450\n      steps:\n"
    "        - name: ab\n          switch:\n"
    "            - {name: a, when: max(v) < 10, model: double, inputs: {x: v}}\n"
    "            - {name: b, model: double, inputs: {x: v}}\n"
    "      next: {v: ab.y}\noutputs: {y: again.v}\n";

TEST_F(Paths, ListsStayShort) {
  folder_.write("rounds.yaml", kRounds);
  service_.emplace(options_of(folder_));
  for (int i = 0; i < 30; ++i) (void)ask(*service_, {.model = "rounds", .inputs = {{"x", row({1, 0})}}}).get();
  constexpr std::size_t kMost = 1U << 20U;
  const std::string all = send("GET", "/v2/paths", "limit=30").body;
  EXPECT_GT(all.size(), kMost);
  EXPECT_LT(all.size(), kMost + kMost / 4) << "it ends with the path that exceeds 1 MiB";
  EXPECT_THAT(all, testing::StartsWith(R"([{"number":30,)"));
  const std::string brief = send("GET", "/v2/paths", "limit=30&steps=false").body;
  EXPECT_THAT(brief,
              HasSubstr(R"x("taken":["ab: a (4 times)","ab: b (446 times)","again: 450 iterations"]},{"number":29,)x"));
  EXPECT_THAT(brief, HasSubstr(R"({"number":1,)"));
  EXPECT_EQ(send("GET", "/v2/paths", "steps=no").status, Http::bad_request);
}

TEST_F(Paths, AReplayTakesTheSameBranchesAndHasTheSameBits) {
  for (int i = 1; i <= 20; ++i) {
    floats_of(ask(*service_, {.model = "p", .inputs = {{"x", row({0.1F, 0.2F})}}}).get());
    const Reply again = send("POST", "/v2/paths/" + std::to_string(i) + "/replay");
    EXPECT_THAT(again.body, HasSubstr(R"("equal":true,"path")")) << again.body;
  }
}

TEST_F(Paths, AReplayWithOneChangeShowsWhatItDoes) {
  floats_of(ask(*service_, {.model = "p", .inputs = {{"x", row({1, 2})}}}).get());
  const Reply other = send("POST", "/v2/paths/1/replay", "", R"({"choices":{"out":"large"}})");
  EXPECT_THAT(other.body, HasSubstr(R"("equal":false,"largest_difference":)"));
  EXPECT_THAT(other.body, HasSubstr(R"("taken":"large","why":"forced by the request")"));
  const Reply model = send("POST", "/v2/paths/1/replay", "", R"({"model":"double"})");
  EXPECT_THAT(model.body, HasSubstr(R"("model":"double")")) << "another model on the same inputs";
}

TEST_F(Paths, SequencesAreReplayedWithTheStateThatTheyFound) {
  folder_.add("sum", "graph g(%x: f32[N,2], %s: f32[N,2]) { %y = Add(%x, %s) return y = %y }");
  server::ServiceOptions options = options_of(folder_);
  options.config.paths.inputs = true;
  options.config.models["sum"].sequences.states = {{.input = "s", .output = "y"}};
  service_.emplace(options);
  const auto turn = [&](bool start) {
    return floats_of(
        ask(*service_, {.model = "sum", .inputs = {{"x", row({1, 2})}}, .sequence = {.id = "a", .start = start}})
            .get());
  };
  turn(true);
  turn(false);
  EXPECT_THAT(turn(false), testing::ElementsAre(3, 6));
  EXPECT_THAT(send("POST", "/v2/paths/3/replay").body, HasSubstr(R"("equal":true,"path")"));
  EXPECT_THAT(turn(false), testing::ElementsAre(4, 8)) << "a replay does not change the sequence";
}

TEST_F(Paths, AShareOfTheRunsIsCheckedByTheReference) {
  server::ServiceOptions options = options_of(folder_);
  options.config.paths.check = 1;
  service_.emplace(options);
  floats_of(ask(*service_, {.model = "double", .inputs = {{"x", row({1, 2})}}}).get());
  const auto served = service_->models().find("double", "");
  while (served->checked().runs == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(served->checked().different, 0U);
}

TEST(ReferenceCheck, ComparesWhatIsInSequencesToo) {
  const auto pair = [](float a, float b) {
    return api::Array::sequence({api::Array::scalar(a), api::Array::of<float>({2}, {b, b})});
  };
  const auto text = [](const char* value) { return api::Array::sequence({api::Array::scalar(std::string(value))}); };
  const api::Array one = api::Array::sequence({api::Array::scalar(1.0F)});
  EXPECT_TRUE(server::agree(pair(1, 2), pair(1, 2)));
  EXPECT_TRUE(server::agree(pair(1, 2), pair(1, 2.0001F))) << "within the tolerance";
  EXPECT_FALSE(server::agree(pair(1, 2), pair(1, 3)));
  EXPECT_FALSE(server::agree(pair(1, 2), pair(2, 2)));
  EXPECT_FALSE(server::agree(pair(1, 2), one)) << "another number of items";
  EXPECT_FALSE(server::agree(one, api::Array::scalar(1.0F)));
  EXPECT_FALSE(server::agree(text("a"), text("b")));
  EXPECT_FALSE(server::agree(api::Array::scalar(std::nanf("")), api::Array::scalar(1.0F)));
  EXPECT_TRUE(server::agree(api::Array::scalar(std::nanf("")), api::Array::scalar(std::nanf(""))));
  EXPECT_FALSE(server::agree(api::Array::scalar(std::int64_t{100'000}), api::Array::scalar(std::int64_t{100'001})))
      << "whole numbers are equal or not";
}

TEST(PathLog, KeepsTheLatest) {
  server::PathLog log({.ring = 3});
  for (int i = 0; i < 5; ++i) log.end(std::make_shared<server::RequestRecord>());
  EXPECT_EQ(log.find(2), nullptr);
  EXPECT_EQ(log.find(3)->number, 3U);
  EXPECT_EQ(log.find(server::PathLog::Query{}).size(), 3U);
}

std::string body_of(const server::RequestRecord& record) {
  const std::shared_ptr<const server::RequestRecord> list[] = {std::make_shared<server::RequestRecord>(record)};
  return server::spans_body(list);
}

/// Whatever a client sends as its trace, the collector gets JSON in which it is one text, or not at all.
TEST(Spans, TracesOfAnotherFormAreReplaced) {
  const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  for (const std::string& bad :
       {std::string(R"(00-0af7651916cd43dd8448eb211c80319"-b7ad6b7169203331-01)"),
        std::string(R"(00-0af7651916cd43dd8448eb211c803"}]-b7ad6b716920333\-01)"), good + "-more",
        std::string("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"),
        std::string("00-00000000000000000000000000000000-b7ad6b7169203331-01"),
        std::string("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"), std::string("none")}) {
    const auto body = nlohmann::json::parse(body_of({.model = "m", .trace = bad}));
    const auto span = body.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").at(0);
    EXPECT_THAT(span.at("traceId").get<std::string>(), testing::MatchesRegex("[0-9a-f]{32}")) << bad;
    EXPECT_NE(span.at("traceId"), "00000000000000000000000000000000") << bad;
    EXPECT_FALSE(span.contains("parentSpanId")) << bad;
  }
}

TEST(Spans, HaveWhatClientsSayAsTexts) {
  const server::RequestRecord record{
      .id = R"(a"}\)", .model = "m", .status = Http::bad_request, .error = "line\nline \"x\""};
  const auto body = nlohmann::json::parse(body_of(record));
  const auto span = body.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").at(0);
  EXPECT_EQ(span.at("status").at("message"), record.error);
  EXPECT_EQ(span.at("attributes").back().at("value").at("stringValue"), record.id);
}

TEST(Spans, BelongToTheCallersTrace) {
  server::RequestRecord record{.began_ns = 5,
                               .time = std::chrono::nanoseconds(3),
                               .model = "m",
                               .trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"};
  record.steps.push_back({.node = "n", .kind = "switch", .taken = "left"});
  record.parts = 2;
  record.first_part = std::chrono::nanoseconds(1);
  const std::string json = body_of(record);
  EXPECT_THAT(json, HasSubstr(R"("traceId":"0af7651916cd43dd8448eb211c80319c")"));
  EXPECT_THAT(json, HasSubstr(R"("parentSpanId":"b7ad6b7169203331","name":"infer m")"));
  EXPECT_THAT(json, HasSubstr(R"("startTimeUnixNano":"5","endTimeUnixNano":"8")"));
  EXPECT_THAT(json, HasSubstr(R"({"key":"frazil.parts","value":{"stringValue":"2"}},)"
                              R"({"key":"frazil.first_part_ns","value":{"stringValue":"1"}})"));
  EXPECT_THAT(json, HasSubstr(R"({"key":"frazil.branch","value":{"stringValue":"left"}})"));
}

}  // namespace
}  // namespace frazil::test
