// Requests that run together: who joins whom, and that nobody notices.
#include <random>
#include <thread>

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/batch/batch_plan.h"
#include "server/batch/busy.h"
#include "server/batch/stack.h"
#include "server/grpc/grpc_message.h"
#include "server/grpc_encode.h"
#include "server/http/rest_json.h"
#include "server/request/path_record.h"

namespace frazil::test {
namespace {

using api::Array;
using server::Batching;
using server::BatchPlan;
using server::Http;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Stack, JoinsAndPartsAlongAnyAxis) {
  const Array a = Array::of<float>({1, 2, 2}, {1, 2, 3, 4}),
              b = Array::of<float>({2, 2, 2}, {5, 6, 7, 8, 9, 10, 11, 12});
  const server::StackAxes first{.batch = 0};
  const Array ab[] = {a, b};
  const Array whole = server::stacked(ab, first);
  EXPECT_EQ(whole.sizes(), (api::Sizes{3, 2, 2}));
  EXPECT_THAT(server::part_of(whole, first, 1, 2, {}).values<float>(), ElementsAre(5, 6, 7, 8, 9, 10, 11, 12));
  const Array c = Array::of<float>({2, 1}, {1, 2}), d = Array::of<float>({2, 2}, {3, 4, 5, 6});
  const server::StackAxes second{.batch = 1};
  const Array cd[] = {c, d};
  const Array wide = server::stacked(cd, second);
  EXPECT_THAT(wide.values<float>(), ElementsAre(1, 3, 4, 2, 5, 6));
  EXPECT_THAT(server::part_of(wide, second, 1, 2, {}).values<float>(), ElementsAre(3, 4, 5, 6));
}

TEST(Stack, FillsUpEveryTypeThatCanBePadded) {
  const server::StackAxes axes{.batch = 0, .padded = 1, .padding = 1};
  std::vector<std::string_view> padded;
  for (int i = 0; i <= static_cast<int>(api::Dtype::u2); ++i) {
    const auto dtype = static_cast<api::Dtype>(i);
    if (!server::can_be_padded(dtype)) continue;
    padded.push_back(api::name_of(dtype));
    const Array parts[] = {Array(dtype, {1, 1}), Array(dtype, {1, 2})};
    const Array whole = server::stacked(parts, axes);
    std::vector<double> values;
    for (std::int64_t k = 0; k < whole.count(); ++k) values.push_back(whole.number(k));
    EXPECT_THAT(values, ElementsAre(0, 1, 0, 0)) << api::name_of(dtype);
  }
  EXPECT_THAT(padded, ElementsAre("bool", "i8", "i16", "i32", "i64", "u8", "f32", "f64"));
}

TEST(Stack, FillsUpWhatIsShorterAndCutsItBack) {
  const server::StackAxes axes{.batch = 0, .padded = 1, .padding = -1};
  const Array parts[] = {Array::of<std::int64_t>({1, 1}, {7}), Array::of<std::int64_t>({1, 3}, {1, 2, 3})};
  const Array whole = server::stacked(parts, axes);
  EXPECT_THAT(whole.values<std::int64_t>(), ElementsAre(7, -1, -1, 1, 2, 3));
  EXPECT_THAT(server::part_of(whole, axes, 0, 1, 1).values<std::int64_t>(), ElementsAre(7));
  EXPECT_THAT(server::part_of(whole, axes, 1, 1, 3).values<std::int64_t>(), ElementsAre(1, 2, 3));
}

struct BadPlan {
  const char* graph;
  Batching config;
  const char* why;
};
class BadPlans : public testing::TestWithParam<BadPlan> {};

TEST_P(BadPlans, AreRefusedWithTheNameOfTheValue) {
  const auto model = api::Model::from_text(GetParam().graph);
  try {
    const server::ModelConfig config{.batching = GetParam().config};
    const std::string name = "m";
    const BatchPlan::ModelView of{
        .model = name, .inputs = model.inputs(), .outputs = model.outputs(), .config = config};
    const BatchPlan plan(of, BatchPlan::symbols(of).front());
    FAIL() << "no error";
  } catch (const api::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().why));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadPlans,
    testing::Values(
        BadPlan{"graph g(%x: f32[2]) { %y = Add(%x, %x) return y = %y }", {.most = 4}, "no free extent"},
        BadPlan{"graph g(%x: f32[N,2]) { %y = Add(%x, %x) %s = ReduceSum(%x) {keepdims = 0} return y = %y, s = %s }",
                {.most = 4},
                "no free extent is common to an input and all outputs"},
        BadPlan{"graph g(%x: f32[N,2]) { %y = Add(%x, %x) return y = %y }",
                {.most = 4, .paddings = {{.input = "x", .axis = 1}}},
                "input 'x' has no free extent at axis 1"},
        BadPlan{"graph g(%x: f32[N,2]) { %y = Add(%x, %x) return y = %y }",
                {.most = 4, .paddings = {{.input = "z", .axis = 1}}},
                "there is no input 'z'"},
        BadPlan{"graph g(%x: f32[N,L]) { %y = Add(%x, %x) return y = %y }",
                {.most = 4, .lengths = "x"},
                "input 'x' cannot take lengths"}));

class Batches : public testing::Test {
 protected:
  void serve(server::ModelConfig config) {
    server::ServiceOptions options = options_of(folder_);
    options.config.models["m"] = std::move(config);
    service_.emplace(options);
  }
  Folder folder_;
  std::optional<server::Service> service_;
};

TEST_F(Batches, RequestsThatWaitRunTogether) {
  folder_.add("m", kDouble);
  serve({.batching = {.most = 4}});
  Busy busy(*service_);
  std::vector<std::future<server::Outcome>> outcomes;
  for (float i = 0; i < 6; ++i)
    outcomes.push_back(ask(*service_, {.model = "m", .inputs = {{"x", row({i, i + 0.5F})}}}));
  busy.go();
  for (float i = 0; i < 6; ++i)
    EXPECT_THAT(floats_of(outcomes[static_cast<std::size_t>(i)].get()), ElementsAre(2 * i, 2 * i + 1));
  EXPECT_THAT(batch_sizes(*service_), ElementsAre(std::pair(2, 1), std::pair(4, 1)));
}

TEST_F(Batches, ABadRequestFailsAlone) {
  folder_.add("m", "graph g(%x: f32[N,4], %i: i64[N,1]) { %y = GatherElements(%x, %i) {axis = 1} return y = %y }");
  serve({.batching = {.most = 8}});
  Busy busy(*service_);
  const auto with = [&](std::int64_t index) {
    return ask(*service_,
               {.model = "m", .inputs = {{"x", row({0, 1, 2, 3})}, {"i", Array::of<std::int64_t>({1, 1}, {index})}}});
  };
  auto good = with(2), bad = with(9), other = with(3);
  busy.go();
  EXPECT_THAT(floats_of(good.get()), ElementsAre(2));
  EXPECT_THAT(floats_of(other.get()), ElementsAre(3));
  const auto refused = bad.get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status(), Http::bad_request);
}

TEST_F(Batches, UnlikeOnesDoNotMeet) {
  folder_.add("m", "graph g(%x: f32[N,L], %s: f32[]) { %y = Mul(%x, %s) return y = %y }");
  serve({.batching = {.most = 8}});
  Busy busy(*service_);
  const auto with = [&](Array x, float scale) {
    return ask(*service_, {.model = "m", .inputs = {{"x", std::move(x)}, {"s", Array::scalar(scale)}}});
  };
  auto a = with(row({1, 2}), 1), b = with(row({1, 2, 3}), 1), c = with(row({1, 2}), 5), d = with(row({3, 4}), 1);
  busy.go();
  EXPECT_THAT(floats_of(a.get()), ElementsAre(1, 2));
  EXPECT_THAT(floats_of(b.get()), ElementsAre(1, 2, 3));
  EXPECT_THAT(floats_of(c.get()), ElementsAre(5, 10));
  EXPECT_THAT(floats_of(d.get()), ElementsAre(3, 4));
  EXPECT_THAT(batch_sizes(*service_), ElementsAre(std::pair(1, 2), std::pair(2, 1)))
      << "a and d alone have the same length and scale";
}

TEST_F(Batches, LengthsMeetWherePaddingIsDeclared) {
  folder_.add("m", "graph g(%x: f32[N,L], %n: i64[N]) { %y = Add(%x, %x) return y = %y, n = %n }");
  serve({.batching = {.most = 8, .paddings = {{.input = "x", .axis = 1}}, .lengths = "n", .max_waste = 0.4}});
  Busy busy(*service_);
  auto a = ask(*service_, {.model = "m", .inputs = {{"x", row({1, 2, 3})}}});
  auto b = ask(*service_, {.model = "m", .inputs = {{"x", row({4, 5})}}});
  auto c = ask(*service_, {.model = "m", .inputs = {{"x", row({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})}}});
  busy.go();
  EXPECT_THAT(floats_of(a.get()), ElementsAre(2, 4, 6));
  const auto shorter = b.get();
  EXPECT_THAT(floats_of(shorter), ElementsAre(8, 10));
  EXPECT_EQ(shorter->outputs[1].second.item<std::int64_t>(), 2);
  EXPECT_EQ(floats_of(c.get()).size(), 10U);
  EXPECT_THAT(batch_sizes(*service_), ElementsAre(std::pair(1, 1), std::pair(2, 1)))
      << "ten and two would be mostly padding";
  EXPECT_EQ(service_->models().find("m", "")->statistics().padded, 1U);
}

TEST_F(Batches, AnExtentIsTheBatchOnlyWhereRequestsDoNotMixAlongIt) {
  folder_.add("m", "graph g(%x: f32[T,B]) { %y = CumSum(%x, i64[] 0) return y = %y }");
  serve({.batching = {.most = 8}});
  Busy busy(*service_);
  const auto with = [&](std::initializer_list<float> x) {
    return ask(*service_, {.model = "m", .inputs = {{"x", Array::of<float>({2, 1}, x)}}});
  };
  auto a = with({1, 2}), b = with({3, 4});
  busy.go();
  EXPECT_THAT(floats_of(a.get()), ElementsAre(1, 3)) << "T is summed over, so that B is the batch";
  EXPECT_THAT(floats_of(b.get()), ElementsAre(3, 7));
  EXPECT_THAT(batch_sizes(*service_), ElementsAre(std::pair(2, 1)));
  folder_.add("m", "graph g(%x: f32[N,2]) { %y = CumSum(%x, i64[] 0) return y = %y }");
  EXPECT_THROW(serve({.batching = {.most = 8}}), api::Error) << "no extent is left";
}

TEST_F(Batches, StatesHaveTheAxesOfTheOutputsThatTheyComeFrom) {
  folder_.add("m",
              "graph g(%x: f32[N,2], %s: f32[1,M,2]) { %u = Unsqueeze(%x, i64[1] 0) %h = Shape(%u) %r = Reshape(%s, "
              "%h) %n = Add(%u, %r)"
              "%y = Squeeze(%n, i64[1] 0) return y = %y, n = %n }");
  server::ModelConfig config{.batching = {.most = 8}};
  config.sequences.states = {{.input = "s", .output = "n"}};
  serve(config);
  for (const bool start : {true, false}) {
    Busy busy(*service_);
    std::vector<std::future<server::Outcome>> outcomes;
    for (const char* id : {"a", "b", "c"}) {
      outcomes.push_back(
          ask(*service_, {.model = "m", .inputs = {{"x", row({1, 2})}}, .sequence = {.id = id, .start = start}}));
    }
    busy.go();
    for (auto& outcome : outcomes) {
      EXPECT_THAT(floats_of(outcome.get()), start ? ElementsAre(1, 2) : ElementsAre(2, 4));
    }
  }
  EXPECT_THAT(batch_sizes(*service_), ElementsAre(std::pair(3, 2)));
}

TEST_F(Batches, ARepeatedRequestOfASequenceIsAnsweredButNotDoneAgain) {
  folder_.add("m", "graph g(%x: f32[N,2], %s: f32[N,2]) { %y = Add(%x, %s) return y = %y }");
  server::ModelConfig config;
  config.sequences.states = {{.input = "s", .output = "y"}};
  serve(config);
  const auto turn = [&](const std::string& id) {
    Asking asking{.model = "m", .inputs = {{"x", row({1, 2})}}, .sequence = {.id = "a", .start_if_new = true}};
    asking.id = id;
    return floats_of(ask(*service_, asking).get());
  };
  EXPECT_THAT(turn("1"), ElementsAre(1, 2));
  EXPECT_THAT(turn("2"), ElementsAre(2, 4));
  EXPECT_THAT(turn("2"), ElementsAre(2, 4)) << "its answer was lost, and a proxy sent it again";
  EXPECT_THAT(turn("3"), ElementsAre(3, 6));
  EXPECT_THAT(turn(""), ElementsAre(4, 8));
  EXPECT_THAT(turn(""), ElementsAre(5, 10)) << "without an id nothing is known to be the same";
}

TEST_F(Batches, SessionsOfHeadersAreForModelsWithState) {
  folder_.add("m", kDouble);
  serve({});
  Asking asking{.model = "m", .inputs = {{"x", row({1, 2})}}, .sequence = {.id = "a", .start_if_new = true}};
  EXPECT_THAT(floats_of(ask(*service_, asking).get()), ElementsAre(2, 4));
  asking.sequence = {.id = "a", .start = true};
  EXPECT_FALSE(ask(*service_, asking).get()) << "a client that asks for state itself is told that there is none";
}

TEST_F(Batches, ARequestWaitsForOthersWhereTheyAreLikely) {
  folder_.add("m", kDouble);
  serve({.batching = {.most = 8, .delay = std::chrono::milliseconds(300)}});
  const auto once = [&] { return ask(*service_, {.model = "m", .inputs = {{"x", row({1, 2})}}}); };
  once().get();
  EXPECT_THAT(batch_sizes(*service_), ElementsAre(std::pair(1, 1))) << "nobody is expected: it runs at once";
  {
    Busy busy(*service_);
    std::vector<std::future<server::Outcome>> many;
    for (int i = 0; i < 40; ++i) many.push_back(once());
    busy.go();
    for (auto& one : many) one.get();
  }
  auto first = once();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  auto second = once();
  EXPECT_THAT(floats_of(first.get()), ElementsAre(2, 4));
  EXPECT_THAT(floats_of(second.get()), ElementsAre(2, 4));
  EXPECT_EQ(batch_sizes(*service_)[2], 1U) << "the worker was idle, and still the first one has waited";
}

TEST_F(Batches, QueuesAreBounded) {
  folder_.add("m", kDouble);
  serve({.batching = {.most = 1, .max_queued = 2}});
  std::vector<std::future<server::Outcome>> outcomes;
  Busy busy(*service_);
  for (int i = 0; i < 4; ++i) outcomes.push_back(ask(*service_, {.model = "m", .inputs = {{"x", row({1, 2})}}}));
  busy.go();
  int refused = 0;
  for (auto& outcome : outcomes) {
    const auto got = outcome.get();
    if (got) continue;
    EXPECT_EQ(got.error().status(), Http::too_many);
    ++refused;
  }
  EXPECT_EQ(refused, 2);
}

TEST_F(Batches, WhoWouldBeLateIsRefusedWhenHeComes) {
  folder_.add("m", kDouble);
  serve({});
  const auto served = service_->models().find("m", "");
  for (int i = 0; i < 50; ++i) served->statistics().cost.add(std::chrono::milliseconds(10));
  std::vector<server::Service::Place> places;
  for (int i = 0; i < 5; ++i) places.push_back(service_->admission().enter({.target = served.get()}).value());
  EXPECT_NEAR(std::chrono::duration<double>(service_->admission().expected_wait()).count(), 0.05, 0.001);
  const auto enter = [&](int milliseconds) {
    return service_->admission().enter({.target = served.get(), .time_left = std::chrono::milliseconds(milliseconds)});
  };
  EXPECT_FALSE(enter(50));
  EXPECT_TRUE(enter(100));
  places.clear();
  EXPECT_TRUE(enter(50)) << "nobody waits any more";
}

TEST_F(Batches, WhoHasLeftOrIsLateDoesNotRun) {
  folder_.add("m", kDouble);
  serve({.batching = {.most = 8}});
  Busy busy(*service_);
  Asking gone{.model = "m", .inputs = {{"x", row({1, 2})}}}, late = gone, stays = gone;
  late.timeout_us = 1000;
  late.caller = std::make_shared<server::Caller>();
  stays.caller = std::make_shared<server::Caller>();
  auto first = ask(*service_, gone), second = ask(*service_, late), third = ask(*service_, stays);
  gone.caller->leave();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  busy.go();
  EXPECT_EQ(first.get().error().status(), Http::cancelled);
  EXPECT_EQ(second.get().error().status(), Http::timeout);
  EXPECT_THAT(floats_of(third.get()), ElementsAre(2, 4));
  EXPECT_THAT(batch_sizes(*service_), ElementsAre(std::pair(1, 1)));
}

TEST_F(Batches, HigherPrioritiesGoFirst) {
  folder_.add("m", kDouble);
  serve({.batching = {.most = 1, .levels = 3, .default_level = 2}});
  Busy busy(*service_);
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::future<void>> ended;
  for (const int priority : {3, 0, 1, 2}) {
    auto promise = std::make_shared<std::promise<void>>();
    ended.push_back(promise->get_future());
    service_->workers().post([&, priority, promise] {
      server::Call call{.arrived = server::Clock::now()};
      call.request.inputs = {{"x", row({1, 2})}};
      call.request.priority = static_cast<std::uint64_t>(priority);
      call.done = [&, priority, promise](server::Outcome) {
        {
          const std::scoped_lock lock(mutex);
          order.push_back(priority);
        }
        promise->set_value();
      };
      service_->infer(service_->models().find("m", ""), std::move(call));
    });
  }
  busy.go();
  for (auto& one : ended) one.get();
  EXPECT_THAT(order, ElementsAre(1, 0, 2, 3)) << "0 is the default, 2";
}

TEST_F(Batches, APriorityBelowTheLevelsIsRefusedButInsideOfPipelinesTheLowest) {
  folder_.add("m", kDouble);
  folder_.write("p.yaml",
                "inputs: {x: 'f32[N,2]'}\nsteps: [{name: out, model: m, inputs: {x: x}}]\noutputs: {y: out.y}\n");
  serve({.batching = {.most = 1, .levels = 2}});
  const Asking asking{.model = "m", .inputs = {{"x", row({1, 2})}}, .priority = 3};
  const auto refused = ask(*service_, asking).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status(), Http::bad_request);
  EXPECT_STREQ(refused.error().what(), "priority 3: expected 1 to 2");
  Asking inside = asking;
  inside.model = "p";
  EXPECT_THAT(floats_of(ask(*service_, inside).get()), ElementsAre(2, 4));
  std::vector<std::future<server::Outcome>> outcomes;
  std::mutex mutex;
  std::vector<std::string> order;
  Busy busy(*service_);
  for (const auto& [model, priority] : {std::pair("p", 9), std::pair("m", 1), std::pair("m", 2)}) {
    Asking one = asking;
    one.model = model;
    one.priority = static_cast<std::uint64_t>(priority);
    one.path = std::make_shared<server::PathRecord>(server::Clock::now());
    one.then = [&, name = model + std::to_string(priority)] {
      const std::scoped_lock lock(mutex);
      order.push_back(name);
    };
    outcomes.push_back(ask(*service_, one));
  }
  busy.go();
  for (auto& outcome : outcomes) EXPECT_THAT(floats_of(outcome.get()), ElementsAre(2, 4));
  EXPECT_THAT(order, ElementsAre("m1", "p9", "m2")) << "p9 came before m2, and both have the lowest level";
}

/// The configuration of the model over REST, without its name and platform.
std::string ports_in_config(const server::Served& served) {
  const std::string config = server::model_config_json(served).body;
  return config.substr(config.find("\"max_batch_size\""));
}

const std::string kBatching =
    R"(,"dynamic_batching":{"preferred_batch_size":[],"max_queue_delay_microseconds":0,"preserve_ordering":false,)"
    R"("priority_levels":1,"default_priority_level":1,"default_queue_policy":{"timeout_action":"REJECT",)"
    R"("default_timeout_microseconds":0,"allow_timeout_override":true,"max_queue_size":0}}})";

TEST_F(Batches, ConfigurationsLeaveTheBatchAxisOutWhereItIsTheFirst) {
  const struct {
    const char* graph;
    std::string config;
    std::uint64_t most;
  } cases[] = {
      {"graph g(%x: f32[N,2]) { %y = Add(%x, %x) return y = %y }",
       R"("max_batch_size":8,"input":[{"name":"x","data_type":"TYPE_FP32","dims":[2]}],)"
       R"("output":[{"name":"y","data_type":"TYPE_FP32","dims":[2]}])" +
           kBatching,
       8},
      {"graph g(%x: f32[N,2]) { %y = Add(%x, %x) return y = %y }",
       R"("max_batch_size":0,"input":[{"name":"x","data_type":"TYPE_FP32","dims":[-1,2]}],)"
       R"("output":[{"name":"y","data_type":"TYPE_FP32","dims":[-1,2]}]})",
       0},
      {"graph g(%x: f32[2,N], %k: i64[2]) { %c = Cast(%k) {to = f32} %u = Unsqueeze(%c, i64[1] 1) %z = Add(%x, %u)"
       "%y = Transpose(%z) {perm = [1, 0]} return y = %y }",
       R"("max_batch_size":8,"input":[{"name":"x","data_type":"TYPE_FP32","dims":[2,-1]},)"
       R"({"name":"k","data_type":"TYPE_INT64","dims":[2]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":[2]}])" +
           kBatching,
       8}};
  for (const auto& c : cases) {
    folder_.add("m", c.graph);
    serve({.batching = {.most = c.most}});
    EXPECT_EQ(ports_in_config(*service_->models().find("m", "")), c.config);
  }
  EXPECT_EQ(server::proto::write_model_config(*service_->models().find("m", "")),
            field(1, field(1, "m") + field(2, "frazil_onnx") + integer(4, 8) +
                         field(5, field(1, "x") + integer(2, 11) + integers(4, {2, -1})) +
                         field(5, field(1, "k") + integer(2, 9) + integers(4, {2})) +
                         field(6, field(1, "y") + integer(2, 11) + integers(3, {2})) +
                         field(11, integer(2, 0) + integer(4, 1) + integer(5, 1) +
                                       field(6, integer(2, 0) + integer(3, 1) + integer(4, 0)))));
}

TEST_F(Batches, NobodyNoticesWhoElseIsThere) {
  folder_.add("m", kDouble);
  serve({.batching = {.most = 16, .delay = std::chrono::microseconds(200)}});
  std::vector<std::thread> clients;
  for (int c = 0; c < 6; ++c) {
    clients.emplace_back([&, c] {
      std::mt19937 random(static_cast<unsigned>(c));
      for (int i = 0; i < 200; ++i) {
        const auto rows = static_cast<std::int64_t>(random() % 4 + 1);
        Array x(api::Dtype::f32, {rows, 2});
        for (float& value : x.mutable_values<float>()) value = static_cast<float>(random() % 1000);
        const auto got = floats_of(ask(*service_, {.model = "m", .inputs = {{"x", x}}}).get());
        ASSERT_EQ(got.size(), static_cast<std::size_t>(x.count()));
        for (std::size_t k = 0; k < got.size(); ++k) ASSERT_EQ(got[k], 2 * x.values<float>()[k]);
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

}  // namespace
}  // namespace frazil::test
