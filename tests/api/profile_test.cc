#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/message_of.h"
#include "api/square.h"

namespace {

using frazil::Array;
using frazil::Code;
using frazil::Model;
using frazil::Profile;
using frazil::Profiler;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Array four() { return Array::of<float>({4}, {1, 2, 3, 4}); }

/// A loop of three iterations around a node, and a product before it.
Model looping() {
  return Model::from_text(R"(graph l(%x: f32[N,N]) {
    %p = MatMul(%x, %x) "product"
    %y = Loop(i64[] 3, bool[] true, %p) body(%i: i64[], %c: bool[], %v: f32[N,N]) { %w = Softmax(%v) "soft" yield %c, %w } "around"
    return y = %y })");
}

double sum_of(const Profile& profile) {
  return std::accumulate(profile.rows.begin(), profile.rows.end(), 0.0,
                         [](double sum, const Profile::Row& row) { return sum + row.seconds; });
}

TEST(Profiles, CountNodesAndTheirTime) {
  const Model model = looping();
  auto session = model.open();
  const Profiler profiler;
  session.start_profile(profiler);
  const Array x(frazil::Dtype::f32, {8, 8});
  for (int i = 0; i < 5; ++i) session.run({{"x", x}});
  session.stop_profile();
  session.run({{"x", x}});
  const Profile profile = profiler.profile();
  EXPECT_EQ(profile.runs, 5u) << "runs after stop_profile() are not recorded";
  EXPECT_EQ(profile.passes, 1u);
  const auto row = [&](const std::string& node) {
    const auto at = std::ranges::find(profile.rows, node, &Profile::Row::node);
    EXPECT_NE(at, profile.rows.end()) << node;
    return at == profile.rows.end() ? Profile::Row() : *at;
  };
  EXPECT_EQ(row("product").calls, 5u);
  EXPECT_EQ(row("product").op, "MatMul");
  EXPECT_EQ(row("product").flops, 5 * 2 * 8 * 8 * 8);
  EXPECT_EQ(row("soft").calls, 15u);
  EXPECT_GT(profile.seconds, 0);
  EXPECT_LE(sum_of(profile), profile.seconds);
  EXPECT_TRUE(std::ranges::is_sorted(profile.rows, std::greater(), &Profile::Row::seconds));
  ASSERT_EQ(profile.flows.size(), 1u);
  EXPECT_EQ(profile.flows[0].node, "around");
  EXPECT_EQ(profile.flows[0].entries, 5u);
  EXPECT_EQ(profile.flows[0].iterations, 15u);
  EXPECT_THAT(profile.table(), testing::AllOf(HasSubstr("product"), HasSubstr("MatMul"), HasSubstr("share")));
  EXPECT_THAT(profile.table(1), HasSubstr("more"));
}

TEST(Profiles, ResultsHaveTheSameBits) {
  const Model model = looping();
  auto plain = model.open(), profiled = model.open();
  profiled.start_profile(Profiler());
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), -20.0f);
  const Array x = Array::of<float>({8, 8}, std::span<const float>(values));
  const auto a = plain.run({{"x", x}}), b = profiled.run({{"x", x}});
  EXPECT_TRUE(std::ranges::equal(a["y"].values<float>(), b["y"].values<float>()));
}

TEST(Profiles, CoverTheFastestHalfOfThePasses) {
  auto session = square_model().open();
  Profiler profiler;
  session.start_profile(profiler);
  for (int pass = 0; pass < 6; ++pass) {
    session.run({{"x", four()}});
    profiler.end_pass();
  }
  session.stop_profile();
  const Profile profile = profiler.profile();
  EXPECT_EQ(profile.passes, 3u);
  EXPECT_EQ(profile.runs, 6u);
  ASSERT_EQ(profile.rows.size(), 1u);
  EXPECT_EQ(profile.rows[0].calls, 3u);
  profiler.reset();
  EXPECT_EQ(profiler.profile().runs, 0u);
  EXPECT_TRUE(profiler.profile().rows.empty());
}

TEST(Profiles, TracesAreChromesJson) {
  auto session = looping().open();
  const Profiler profiler({.trace_events = 1000});
  session.start_profile(profiler);
  session.run({{"x", Array(frazil::Dtype::f32, {4, 4})}});
  session.stop_profile();
  const auto json = nlohmann::json::parse(profiler.trace("a \"title\""));
  std::vector<std::string> names;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] != "code") names.push_back(event["name"]);
  }
  EXPECT_EQ(std::ranges::count(names, "request"), 1);
  EXPECT_EQ(std::ranges::count(names, "product"), 1);
  EXPECT_EQ(std::ranges::count(names, "soft"), 3);
  EXPECT_EQ(std::ranges::count(names, "iteration"), 3);
  EXPECT_EQ(json["otherData"]["model"], "a \"title\"");
  const Profiler small({.trace_events = 2});
  session.start_profile(small);
  session.run({{"x", Array(frazil::Dtype::f32, {4, 4})}});
  EXPECT_EQ(small.events().kept, 2u);
  EXPECT_GT(small.events().dropped, 0u);
}

TEST(Profiles, GoTogetherWithAnObserverAndFetch) {
  struct Nodes : frazil::Observer {
    std::vector<std::string> begun;
    void node_begin(const frazil::NodeEvent& node) override { begun.emplace_back(node.name); }
  };
  auto session = square_model().open();
  Nodes nodes;
  const Profiler profiler;
  session.set_observer(&nodes);
  session.start_profile(profiler);
  EXPECT_THAT(session.fetch({{"x", four()}}, {"product"})["product"].values<float>(), ElementsAre(1, 4, 9, 16));
  session.set_observer(nullptr);
  session.run({{"x", four()}});
  session.stop_profile();
  EXPECT_THAT(nodes.begun, ElementsAre("product"));
  EXPECT_EQ(profiler.profile().runs, 2u);
}

TEST(Profiles, OutliveTheirSessionsAndModels) {
  Profiler profiler({.trace_events = 100});
  for (int i = 0; i < 2; ++i) {
    auto session = square_model().open();
    session.start_profile(profiler);
    session.run({{"x", four()}});
  }
  EXPECT_EQ(profiler.profile().runs, 2u);
  EXPECT_EQ(profiler.profile().plans, 2u);
  EXPECT_THAT(profiler.trace(), HasSubstr("product"));
}

TEST(Profiles, Misuse) {
  const Model model = square_model();
  auto session = model.open(), other = model.open(), reference = model.open({.tier = "ref"});
  const Profiler profiler;
  session.stop_profile();
  session.start_profile(profiler);
  EXPECT_THAT(message_of([&] { session.start_profile(Profiler()); }, Code::bad_input), HasSubstr("already"));
  EXPECT_THAT(message_of([&] { other.start_profile(profiler); }, Code::bad_input), HasSubstr("another session"));
  EXPECT_THAT(message_of([&] { reference.start_profile(Profiler()); }, Code::unsupported), HasSubstr("reference"));
  EXPECT_THAT(message_of([&] { (void)profiler.profile(0); }, Code::bad_input), HasSubstr("overhead"));
  EXPECT_THAT(message_of([&] { Profiler({.trace_events = 1'000'000'000}); }, Code::bad_input),
              HasSubstr("trace_events"));
}

}  // namespace
