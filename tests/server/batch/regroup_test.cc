// Requests that take other branches of one graph and iterate differently, and yet share runs.
#include <future>

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/folder.h"

namespace frazil::test {
namespace {

using server::Http;
using testing::ElementsAre;
using testing::HasSubstr;

// Twice as long as the largest element is under a hundred; then one of two products.
constexpr const char* kRouted =
    "weight @a: f32[2,2]\n weight @b: f32[2,2]\n"
    "graph g(%x: f32[1,2], %left: bool[]) {"
    " %grown, %steps = Loop(_, bool[] true, %x, i64[] 0) body(%i, %on, %v, %n) {"
    "   %w = Add(%v, %v) %m = ReduceMax(%w) {keepdims = 0} %goes = Less(%m, f32[] 100) %k = Add(%n, i64[] 1)"
    "   yield %goes, %w, %k }"
    " %y = If(%left) then_branch() { %l = MatMul(%grown, @a) yield %l } else_branch() { %r = MatMul(%grown, @b) yield "
    "%r }"
    " return y = %y, steps = %steps }";

class Regrouped : public testing::Test {
 protected:
  explicit Regrouped(server::Regroup how = server::Regroup::always) {
    const std::map<std::string, api::Array> weights{{"a", api::Array::of<float>({2, 2}, {1, 0, 0, 1})},
                                                    {"b", api::Array::of<float>({2, 2}, {0, 1, 1, 0})}};
    api::Model::from_text(kRouted, weights).save(folder_.path() + "m.onnx");
    server::ServiceOptions options = options_of(folder_);
    options.config.models["m"].batching = {.most = 16, .regroup = how};
    service_.emplace(options);
  }
  static Asking asking(float x, bool left) {
    return {.model = "m", .inputs = {{"x", row({x, x / 2})}, {"left", api::Array::scalar(left)}}};
  }
  /// Requests that wait together for the only worker.
  std::vector<server::Outcome> ask_all(const std::vector<Asking>& all) {
    std::promise<void> go;
    service_->workers().post([free = go.get_future().share()] { free.wait(); });
    std::vector<std::future<server::Outcome>> answers;
    for (const Asking& each : all) answers.push_back(ask(*service_, each));
    go.set_value();
    std::vector<server::Outcome> outcomes;
    for (auto& answer : answers) outcomes.push_back(answer.get());
    return outcomes;
  }
  std::uint64_t runs_of(std::uint64_t size) {
    for (const auto& [requests, runs] : service_->models().find("m", "")->statistics().batches.by_size()) {
      if (requests == size) return runs.count;
    }
    return 0;
  }

  Folder folder_;
  std::optional<server::Service> service_;
};

TEST_F(Regrouped, EachHasWhatItHasAlone) {
  std::vector<Asking> all;
  for (int i = 0; i < 12; ++i) all.push_back(asking(static_cast<float>(1 << (i % 7)), i % 3 == 0));
  const auto together = ask_all(all);
  EXPECT_EQ(runs_of(12), 1U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto alone = ask(*service_, all[i]).get();
    ASSERT_TRUE(together[i] && alone) << i;
    EXPECT_EQ(floats_of(together[i]), floats_of(alone)) << i;
    EXPECT_EQ(together[i]->outputs[1].second.number(0), alone->outputs[1].second.number(0)) << i;
  }
  EXPECT_THAT(floats_of(together[1]), ElementsAre(64, 128));
}

TEST_F(Regrouped, OneThatIsWrongFailsAlone) {
  Asking wrong = asking(1, true);
  wrong.inputs[0].second = row({1, 2, 3});
  const auto answers = ask_all({asking(1, true), wrong, asking(3, false)});
  EXPECT_TRUE(answers[0]);
  ASSERT_FALSE(answers[1]);
  EXPECT_EQ(answers[1].error().status(), Http::bad_request);
  EXPECT_THAT(answers[1].error().what(), HasSubstr("'x'"));
  EXPECT_TRUE(answers[2]);
}

TEST_F(Regrouped, WhoIsLateOrLeavesEndsWhereItNextWaits) {
  Asking endless = asking(0, true), late = endless;
  late.timeout_us = 20'000;
  auto gone = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    endless.caller->leave();
  });
  const auto answers = ask_all({asking(1, true), endless, late});
  gone.get();
  EXPECT_TRUE(answers[0]);
  ASSERT_FALSE(answers[1]);
  EXPECT_EQ(answers[1].error().status(), Http::cancelled);
  ASSERT_FALSE(answers[2]);
  EXPECT_EQ(answers[2].error().status(), Http::timeout);
}

struct RegroupedWhereItPays : Regrouped {
  RegroupedWhereItPays() : Regrouped(server::Regroup::where_it_pays) {}
};

TEST_F(RegroupedWhereItPays, RequestsOfSmallWeightsRunAlone) {
  EXPECT_EQ(service_->models().find("m", "")->config().batching.most, 1U);
  const auto answers = ask_all({asking(1, true), asking(3, false), asking(5, true)});
  for (const auto& answer : answers) EXPECT_TRUE(answer);
  EXPECT_EQ(runs_of(3), 0U);
}

TEST_F(Regrouped, NeedsNoAxis) {
  EXPECT_EQ(service_->models().find("m", "")->batch_axis_of_input(0), std::nullopt);
  EXPECT_EQ(service_->models().find("m", "")->config().batching.most, 16U);
}

}  // namespace
}  // namespace frazil::test
