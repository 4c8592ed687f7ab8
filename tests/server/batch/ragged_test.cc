// Requests of different lengths that run together without padding.
#include <future>
#include <random>
#include <thread>

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/batch/busy.h"
#include "server/batch/ragged_plan.h"

namespace frazil::test {
namespace {

using api::Array;
using server::Batching;
using server::RaggedPlan;
using testing::ElementsAre;

/// Both directions: padding would change the results of the second.
constexpr const char* kBothWays =
    "graph g(%x: f32[L,N,1]) { %y = RNN(%x, f32[2,1,1] [1, 1], f32[2,1,1] [0.5, 0.5]) "
    "{hidden_size = 1, direction = \"bidirectional\", activations = [\"Affine\", \"Affine\"]} return y = %y }";
/// Rows depend on earlier rows in a way that has no ragged form.
constexpr const char* kRunningSum = "graph g(%x: f32[N,L]) { %y = CumSum(%x, i64[] 1) return y = %y }";

class RaggedBatches : public testing::Test {
 protected:
  void serve(const char* graph, Batching batching) {
    folder_.add("m", graph);
    server::ServiceOptions options = options_of(folder_);
    options.config.models["m"] = {.batching = std::move(batching)};
    service_.emplace(options);
  }
  std::future<server::Outcome> ask_with(Array x) {
    return ask(*service_, {.model = "m", .inputs = {{"x", std::move(x)}}});
  }

  Folder folder_;
  std::optional<server::Service> service_;
};

Batching padded(const char* input, std::size_t axis) {
  return {.most = 8, .paddings = {{.input = input, .axis = axis}}, .max_waste = 0};
}

TEST_F(RaggedBatches, LengthsMeetWithoutPadding) {
  serve(kBothWays, padded("x", 0));
  Busy busy(*service_);
  auto one = ask_with(Array::of<float>({1, 1, 1}, {1}));
  auto three = ask_with(Array::of<float>({3, 1, 1}, {1, 2, 4}));
  auto two = ask_with(Array::of<float>({2, 1, 1}, {8, 16}));
  busy.go();
  EXPECT_THAT(floats_of(one.get()), ElementsAre(1, 1));
  EXPECT_THAT(floats_of(three.get()), ElementsAre(1, 3, 2.5, 4, 5.25, 4));
  EXPECT_THAT(floats_of(two.get()), ElementsAre(8, 16, 20, 16));
  EXPECT_THAT(batch_sizes(*service_), ElementsAre(std::pair(3, 1)));
  EXPECT_EQ(service_->models().find("m", "")->statistics().padded, 0U);
  EXPECT_EQ(service_->models().find("m", "")->statistics().elements, 6U);
}

TEST_F(RaggedBatches, RequestsOfOtherBatchesAreSeparate) {
  serve(kBothWays, padded("x", 0));
  Busy busy(*service_);
  auto one = ask_with(Array::of<float>({2, 1, 1}, {1, 2}));
  auto pair = ask_with(Array::of<float>({1, 2, 1}, {3, 4}));
  auto other = ask_with(Array::of<float>({2, 2, 1}, {1, 2, 3, 4}));
  busy.go();
  EXPECT_THAT(floats_of(one.get()), ElementsAre(1, 2, 2.5, 2));
  EXPECT_THAT(floats_of(pair.get()), ElementsAre(3, 4, 3, 4));
  EXPECT_THAT(floats_of(other.get()), ElementsAre(1, 2, 2.5, 4, 3.5, 5, 3, 4));
  EXPECT_THAT(batch_sizes(*service_), ElementsAre(std::pair(1, 1), std::pair(2, 1)));
}

TEST_F(RaggedBatches, ModelsWithoutARaggedFormArePadded) {
  Batching batching = padded("x", 1);
  batching.max_waste = 0.4;
  serve(kRunningSum, batching);
  Busy busy(*service_);
  auto two = ask_with(Array::of<float>({1, 2}, {1, 2})), three = ask_with(Array::of<float>({1, 3}, {1, 2, 3}));
  busy.go();
  EXPECT_THAT(floats_of(two.get()), ElementsAre(1, 3));
  EXPECT_THAT(floats_of(three.get()), ElementsAre(1, 3, 6));
  EXPECT_EQ(service_->models().find("m", "")->statistics().padded, 1U);
}

TEST_F(RaggedBatches, NobodyNoticesWhoElseIsThere) {
  serve(kBothWays, padded("x", 0));
  const api::Model model = api::Model::from_text(kBothWays);
  std::vector<std::thread> clients;
  for (unsigned c = 0; c < 6; ++c) {
    clients.emplace_back([&, c] {
      std::mt19937 random(c);
      for (int i = 0; i < 100; ++i) {
        Array x(api::Dtype::f32, {static_cast<std::int64_t>(random() % 9 + 1), 1, 1});
        for (float& value : x.mutable_values<float>()) value = static_cast<float>(random() % 16);
        const auto wanted = model.run({{"x", x}})[0];
        ASSERT_EQ(floats_of(ask_with(x).get()),
                  std::vector<float>(wanted.values<float>().begin(), wanted.values<float>().end()));
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

// ---- configurations ----

struct PlanCase {
  const char* name;
  const char* graph;
  server::ModelConfig config;
  bool ragged;
};

class RaggedPlans : public testing::TestWithParam<PlanCase> {};

TEST_P(RaggedPlans, NeedOneExtentOfAllOutputs) {
  const auto model = api::Model::from_text(GetParam().graph);
  const std::string name = "m";
  const auto plan = RaggedPlan::of(
      {.model = name, .inputs = model.inputs(), .outputs = model.outputs(), .config = GetParam().config});
  ASSERT_EQ(plan.has_value(), GetParam().ragged);
  if (plan) EXPECT_EQ(plan->extent(), "L");
}

INSTANTIATE_TEST_SUITE_P(
    Configurations, RaggedPlans,
    testing::Values(PlanCase{"padded", "graph g(%x: f32[N,L]) { return y = %x }", {.batching = padded("x", 1)}, true},
                    PlanCase{"without_padding", "graph g(%x: f32[N,L]) { return y = %x }", {}, false},
                    PlanCase{"with_lengths",
                             "graph g(%x: f32[N,L], %n: i64[N]) { return y = %x, n = %n }",
                             {.batching = {.most = 8, .paddings = {{.input = "x", .axis = 1}}, .lengths = "n"}},
                             false},
                    PlanCase{
                        "two_extents",
                        "graph g(%x: f32[N,L], %z: f32[N,M]) { return y = %x, z = %z }",
                        {.batching = {.most = 8, .paddings = {{.input = "x", .axis = 1}, {.input = "z", .axis = 1}}}},
                        false},
                    PlanCase{"output_without_rows",
                             "graph g(%x: f32[N,L], %s: f32[N]) { return y = %x, s = %s }",
                             {.batching = padded("x", 1)},
                             false},
                    PlanCase{"with_states",
                             "graph g(%x: f32[N,L]) { return y = %x }",
                             {.batching = padded("x", 1), .sequences = {.states = {{.input = "x", .output = "y"}}}},
                             false}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace frazil::test
