// Sequences over the protocols: how they start, grow, fork and come twice.
#include <future>

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/rest_asked.h"

namespace frazil::test {
namespace {

using server::Http;
using server::Message;
using server::Reply;
using testing::ElementsAre;
using testing::HasSubstr;

class SequenceTest : public testing::Test {
 protected:
  void serve(const char* graph, std::uint64_t page_bytes, server::ModelConfig config = {},
             std::uint64_t memory = 3000) {
    folder_.add("talk", graph);
    if (config.sequences.states.empty()) config.sequences.states = {{.input = "said", .output = "all"}};
    server::ServiceOptions options = options_of(folder_);
    options.config.models["talk"] = config;
    options.config.state = {
        .memory_bytes = memory, .folder = states_ / std::to_string(page_bytes), .page_bytes = page_bytes};
    service_.reset();
    service_.emplace(options);
  }
  Reply send(std::string_view body, std::string_view session = "") {
    return reply_to(*service_, {.method = "POST", .path = "/v2/models/talk/infer", .body = body, .session = session});
  }
  static std::string body(const std::string& parameters, float x, std::string_view more = "") {
    return R"({"parameters":{)" + parameters + R"(},"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[)" +
           std::to_string(x) + R"(]}],"outputs":[{"name":"sum"}])" + std::string(more) + "}";
  }
  static double number_in(const Reply& reply) {
    const std::size_t at = reply.body.find("\"data\":[");
    if (reply.status == Http::ok && at != std::string::npos) return std::stod(reply.body.substr(at + 8));
    ADD_FAILURE() << reply.body;
    return 0;
  }
  double tell(const std::string& parameters, float x) { return number_in(send(body(parameters, x))); }

  Folder folder_;
  TempFolder states_;
  std::optional<server::Service> service_;
};

TEST_F(SequenceTest, AnswersAreTheSameWithPagesAndWithout) {
  for (const std::uint64_t page_bytes : {0, 4, 64, 100'000}) {
    serve(kTalk, page_bytes);
    double a = tell(R"("sequence_id":"a","sequence_start":true)", 1), b = 0;
    EXPECT_EQ(a, 1) << "nothing was said before, not even a zero";
    for (int i = 2; i < 100; ++i) {
      a += i;
      ASSERT_EQ(tell(R"("sequence_id":"a")", static_cast<float>(i)), a) << page_bytes;
    }
    b = a;
    EXPECT_EQ(tell(R"("sequence_id":7,"sequence_start":true,"sequence_parent":"a")", 0.5), b += 0.5) << "what if";
    EXPECT_EQ(tell(R"("sequence_id":"a")", 1000), a += 1000) << "the parent knows nothing of it";
    EXPECT_EQ(tell(R"("sequence_id":"7")", 1), b += 1);
    EXPECT_EQ(tell(R"("sequence_id":"c","sequence_start":true,"sequence_parent":7)", 1), b + 1) << "a fork of a fork";
    EXPECT_EQ(tell(R"("sequence_id":"c","sequence_start":true,"sequence_parent":"a")", 1), a + 1) << "it starts anew";
    EXPECT_EQ(tell(R"("sequence_id":"7","sequence_start":true)", 2), 2);
  }
}

TEST_F(SequenceTest, TheMetricsTellWhatIsShared) {
  serve(kTalk, 64, {}, 7'500);
  for (const char* id : {"a", "b"}) {
    const std::string here = R"("sequence_id":")" + std::string(id) + '"';
    tell(here + R"(,"sequence_start":true)", 1);
    for (int i = 0; i < 400; ++i) tell(here, static_cast<float>(i));  // more than there is memory for
  }
  const std::string metrics = service_->metrics().body;
  const auto value = [&](const std::string& name) {
    const std::size_t at = metrics.find("\n" + name + ' ');
    return at == std::string::npos ? -1 : std::stod(metrics.substr(at + name.size() + 2));
  };
  EXPECT_GT(value("frazil_sequence_page_hits_total"), 10);
  for (const char* name : {"frazil_sequence_pages", "frazil_sequence_page_bytes", "frazil_sequence_pages_shared",
                           "frazil_sequence_shared_bytes"}) {
    EXPECT_GE(value(name), 0) << name;
  }
}

TEST_F(SequenceTest, ASessionOfAHeaderForksWhereItIsNotKnown) {
  serve(kTalk, 64);
  const auto told = [&](std::string_view session, const std::string& parameters, float x) {
    return number_in(send(body(parameters, x), session));
  };
  EXPECT_EQ(told("a", "", 1), 1);
  EXPECT_EQ(told("b", R"("sequence_parent":"a")", 10), 11);
  EXPECT_EQ(told("a", "", 2), 3);
  EXPECT_EQ(told("b", R"("sequence_parent":"a")", 20), 31) << "it is known";
}

TEST_F(SequenceTest, WhatCannotStartIsTold) {
  serve(kTalk, 64);
  tell(R"("sequence_id":"a","sequence_start":true)", 1);
  const std::pair<const char*, const char*> cases[] = {
      {R"("sequence_id":"b","sequence_start":true,"sequence_parent":"none")",
       "sequence 'none' of model 'talk' is not known: it has not been started, or has expired; 'b' cannot start from "
       "it"},
      {R"("sequence_id":"b","sequence_parent":"a")", "parameter sequence_parent: requires sequence_start"},
      {R"("sequence_id":"a","sequence_start":true,"sequence_parent":"a")",
       "parameter sequence_parent: sequence 'a' cannot start from itself"},
      {R"("sequence_parent":"a")", "parameter sequence_parent: expected the id of the sequence that starts"},
      {R"("sequence_id":"b","sequence_start":true,"sequence_parent":true)",
       "parameter sequence_parent: expected a number or a string"},
  };
  for (const auto& [parameters, why] : cases) {
    const Reply reply = send(body(parameters, 1));
    EXPECT_EQ(reply.status, Http::bad_request) << why;
    EXPECT_THAT(reply.body, HasSubstr(why));
  }
  EXPECT_EQ(tell(R"("sequence_id":"a")", 1), 2) << "nothing has changed";
}

TEST_F(SequenceTest, ARepeatedRequestIsAnsweredFromTheStateThatGrows) {
  for (const std::uint64_t page_bytes : {0, 8}) {
    serve(kTalk, page_bytes);
    const auto turn = [&](const char* id, float x) {
      std::string all = body(R"("sequence_id":"a","sequence_start":)" + std::string(id[0] == '1' ? "true" : "false"), x,
                             R"(,"id":")" + std::string(id) + '"');
      all.replace(all.find(R"({"name":"sum"})"), 14, R"({"name":"sum"},{"name":"all"})");
      return send(all).body;
    };
    turn("1", 1);
    turn("2", 2);
    const std::string third = turn("3", 3);
    EXPECT_THAT(third, HasSubstr(R"("shape":[3],"data":[1,2,3])"));
    EXPECT_EQ(turn("3", 3), third);
    EXPECT_THAT(turn("4", 4), HasSubstr(R"("shape":[4],"data":[1,2,3,4])"));
  }
}

TEST_F(SequenceTest, StatesOfBatchesGrow) {
  for (const std::uint64_t page_bytes : {0, 16}) {
    serve(R"(
graph talk(%x: f32[N,S], %said: f32[N,P]) {
  %all = Concat(%said, %x) {axis = 1}
  %sum = ReduceSum(%all, i64[1] 1) {keepdims = 0}
  return sum = %sum, all = %all
})",
          page_bytes, {.batching = {.most = 8, .delay = std::chrono::milliseconds(20)}});
    for (int turn = 0; turn < 30; ++turn) {
      std::vector<std::future<server::Outcome>> outcomes;
      for (int i = 0; i < 6; ++i) {
        outcomes.push_back(ask(*service_, {.model = "talk",
                                           .inputs = {{"x", row({static_cast<float>(i)})}},
                                           .sequence = {.id = std::to_string(i), .start = turn == 0}}));
      }
      for (int i = 0; i < 6; ++i) {
        EXPECT_THAT(floats_of(outcomes[static_cast<std::size_t>(i)].get()),
                    ElementsAre(static_cast<float>(i * (turn + 1))));
      }
    }
    const auto sizes = service_->models().find("talk", "")->statistics().batches.by_size();
    EXPECT_TRUE(std::ranges::any_of(sizes, [](const auto& runs) { return runs.first > 1; })) << "some ran together";
  }
}

TEST_F(SequenceTest, GrowthAlongAnAxisThatIsNoneIsRefused) {
  server::ModelConfig config;
  config.sequences.states = {{.input = "said", .output = "all", .axis = 1}};
  try {
    serve(kTalk, 64, config);
    FAIL() << "no error";
  } catch (const api::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("model 'talk': state 'said': it cannot grow along axis 1: it is f32[P]"));
  }
}

}  // namespace
}  // namespace frazil::test
