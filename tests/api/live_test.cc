#include <atomic>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/beside.h"
#include "api/message_of.h"

namespace {

using frazil::Array;
using frazil::Code;
using frazil::LiveModel;
using frazil::Model;
using frazil::Patch;
using frazil::Version;
using testing::ElementsAre;
using testing::HasSubstr;

Model base() {
  return Model::from_text(R"(graph g(%x: f32[N]) {
    %a: f32[N] = Mul(%x, f32[] 2) "double"
    %y: f32[N] = Add(%a, f32[] 1) "shift"
    return y = %y
  })");
}

void set_shift(Patch& patch, float by) {
  patch.replace("y", patch.op("Add", {patch.tap("a"), patch.scalar(by)}, {}, "shift_" + std::to_string(int(by))));
}

float first_of(frazil::LiveSession& session) {
  return session.run({{"x", Array::of<float>({1}, {10})}})["y"].values<float>()[0];
}

TEST(LiveModel, SessionsRunTheCurrentVersion) {
  LiveModel live(base(), {"ada", "start"});
  auto session = live.open();
  EXPECT_EQ(session.version(), 0u);
  EXPECT_EQ(first_of(session), 21);
  EXPECT_EQ(session.version(), 1u);
  const Version made = live.edit({"bob", "more"}, [](Patch& patch) { set_shift(patch, 5); });
  EXPECT_EQ(made.number, 2u);
  EXPECT_EQ(made.parent, 1u);
  EXPECT_EQ(made.note.author, "bob");
  EXPECT_THAT(made.change, HasSubstr("patch 'more': 1 new node (Add)"));
  EXPECT_EQ(first_of(session), 25);
  EXPECT_EQ(session.version(), 2u);
}

TEST(LiveModel, VersionsMayHaveNumbersAlready) {
  LiveModel live({{7, base()}, {3, base()}}, {.tier = "ref"});
  EXPECT_EQ(live.current().number, 7u);
  EXPECT_EQ(live.version(3).parent, std::nullopt);
  EXPECT_EQ(live.edit({}, [](Patch& patch) { set_shift(patch, 5); }).number, 8u);
  EXPECT_THAT(message_of([&] { (void)live.version(1); }, Code::bad_input), HasSubstr("no version 1"));
  EXPECT_THAT(message_of([] { const LiveModel none({}, {}); }, Code::bad_input), HasSubstr("expected versions"));
  EXPECT_THAT(message_of([] { const LiveModel zero({{0, base()}}, {}); }, Code::bad_input), HasSubstr("from 1 on"));
}

TEST(LiveModel, ACheckMayRefuseVersions) {
  LiveModel live(base());
  std::vector<std::uint64_t> seen;
  live.set_check([&](const LiveModel& of, const Version& next) {
    EXPECT_EQ(of, live);
    EXPECT_EQ(of.current().number, 1u) << "the version is not current yet";
    seen.push_back(next.number);
    if (next.note.author == "eve") throw std::runtime_error("not she");
  });
  const auto edit = [](Patch& patch) { set_shift(patch, 5); };
  EXPECT_THROW(live.edit({"eve"}, edit), std::runtime_error);
  EXPECT_THROW(live.publish(base(), {"eve"}), std::runtime_error);
  EXPECT_THROW(live.roll_back(1, {"eve"}), std::runtime_error);
  EXPECT_EQ(live.current().number, 1u);
  live.edit({"ada"}, edit);
  EXPECT_THAT(seen, ElementsAre(2, 3, 4, 5)) << "numbers are not reused";
  EXPECT_EQ(live.current().number, 5u);
  live.set_check({});
  live.roll_back(1, {"eve"});
  EXPECT_EQ(live.current().number, 6u);
}

TEST(LiveModel, OneValueIsEditedAgainAndAgain) {
  LiveModel live(base());
  auto session = live.open();
  for (int i = 1; i <= 3; ++i) {
    live.edit({}, [](Patch& patch) { patch.replace("a", patch.op("Neg", {patch.tap("a")})); });
    EXPECT_EQ(first_of(session), i % 2 == 1 ? -19 : 21);
  }
  const std::string text = live.current().model.text();
  for (const char* name : {"%a#1", "%a#2", "%a#3"}) {
    EXPECT_THAT(text, HasSubstr(std::string(name).substr(1))) << name;
  }
}

TEST(LiveModel, DigestsAreOfTheContent) {
  LiveModel live(base());
  const std::string first = live.current().model.digest();
  EXPECT_EQ(first.size(), 71u);
  EXPECT_EQ(first.substr(0, 7), "sha256:");
  EXPECT_EQ(base().digest(), first);
  const std::string second = live.edit({}, [](Patch& patch) { set_shift(patch, 5); }).model.digest();
  EXPECT_NE(second, first);
  EXPECT_EQ(live.roll_back(1, {}).model.digest(), first);
}

TEST(LiveModel, DigestsReadLargeWeights) {
  const auto with = [](float last) {
    std::vector<float> numbers(5000, 1);
    numbers.back() = last;
    frazil::GraphBuilder graph("g");
    const auto weight = graph.constant(Array::of<float>({5000}, std::span<const float>(numbers)), "w");
    graph.output("y", graph.op("Add", {graph.input("x", frazil::Dtype::f32, {5000}), weight}));
    return graph.build().digest();
  };
  EXPECT_EQ(with(1), with(1));
  EXPECT_NE(with(1), with(2));
}

TEST(LiveModel, OldVersionsArePlannedAgain) {
  LiveModel live(base());
  for (int i = 0; i < 12; ++i) live.edit({}, [&](Patch& patch) { set_shift(patch, static_cast<float>(i)); });
  live.roll_back(1, {});
  auto session = live.open();
  EXPECT_EQ(first_of(session), 21);
  auto third = live.version(3).model.open();
  EXPECT_EQ(third.run({{"x", Array::of<float>({1}, {10})}})["y"].values<float>()[0], 21);
}

TEST(LiveModel, RollsBackToAnOlderVersion) {
  LiveModel live(base());
  auto session = live.open();
  live.edit({}, [](Patch& patch) { set_shift(patch, 5); });
  EXPECT_EQ(first_of(session), 25);
  const Version back = live.roll_back(1, {"eve", "too much"});
  EXPECT_EQ(back.number, 3u);
  EXPECT_EQ(back.parent, 2u);
  EXPECT_EQ(back.change, "rolled back to 1");
  EXPECT_EQ(first_of(session), 21);
  EXPECT_EQ(live.history().size(), 3u);
  live.forget(2);
  EXPECT_THAT(message_of([&] { live.version(2); }, Code::bad_input), HasSubstr("no version 2"));
  EXPECT_THAT(message_of([&] { live.forget(3); }, Code::bad_input), HasSubstr("current"));
}

TEST(LiveModel, AFailedEditChangesNothing) {
  LiveModel live(base());
  auto session = live.open();
  EXPECT_THAT(message_of([&] { live.edit({}, [](Patch& patch) { patch.tap("nothing"); }); }, Code::bad_input),
              HasSubstr("no value or node 'nothing'"));
  EXPECT_THAT(message_of([&] { live.edit({}, [](Patch& patch) { patch.remove("double"); }); }, Code::bad_model),
              HasSubstr("double"));
  EXPECT_EQ(live.current().number, 1u);
  EXPECT_EQ(first_of(session), 21);
}

TEST(LiveModel, ThePolicySeesTheWholeProposedModel) {
  struct NoTanh : frazil::Policy {
    std::optional<std::string> check_edit(const Model& from, const Model& to) override {
      seen += " " + from.name();
      const auto ops = to.operators();
      return std::ranges::find(ops, "Tanh") == ops.end() ? std::nullopt : std::optional<std::string>("no Tanh here");
    }
    std::string seen;
  };
  const auto policy = std::make_shared<NoTanh>();
  LiveModel live(Model::from_text(base().text(), {}, {.policy = policy}));
  const auto add_tanh = [](Patch& patch) { patch.replace("y", patch.op("Tanh", {patch.tap("y")})); };
  EXPECT_THAT(message_of([&] { live.edit({}, add_tanh); }, Code::bad_input), HasSubstr("no Tanh here"));
  EXPECT_EQ(live.current().number, 1u);
  live.edit({}, [](Patch& patch) { set_shift(patch, 2); });
  EXPECT_EQ(policy->seen, " g g");
}

TEST(LiveModel, ThePolicyStaysWhenAModelFromElsewhereIsPublished) {
  struct NoTanh : frazil::Policy {
    std::optional<std::string> check_load(const Model& model) override {
      const auto ops = model.operators();
      return std::ranges::find(ops, "Tanh") == ops.end() ? std::nullopt : std::optional<std::string>("no Tanh here");
    }
  };
  LiveModel live(Model::from_text(base().text(), {}, {.policy = std::make_shared<NoTanh>()}));
  const Model bad = Model::from_text("graph g(%x: f32[N]) { %y = Tanh(%x) return y = %y }");
  EXPECT_THAT(message_of([&] { live.publish(bad, {}); }, Code::bad_input), HasSubstr("no Tanh here"));
  live.publish(base(), {});
  const auto add_tanh = [](Patch& patch) { patch.replace("y", patch.op("Tanh", {patch.tap("y")})); };
  EXPECT_THAT(message_of([&] { live.edit({}, add_tanh); }, Code::bad_input), HasSubstr("no Tanh here"));
  EXPECT_EQ(live.current().number, 2u);
}

TEST(LiveSession, CarriesStateAcrossVersionsWhereItFits) {
  LiveModel live(Model::from_text(R"(graph g(%x: f32[N], %s: f32[1] = [0]) {
    %t: f32[N] = Add(%x, %s)
    return t = %t
  })"));
  auto session = live.open();
  session.carry("t", "s");
  const auto run = [&] { return session.run({{"x", Array::of<float>({1}, {1})}})["t"].number(0); };
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(run(), 2);
  live.edit({}, [](Patch& patch) { patch.replace("t", patch.op("Mul", {patch.tap("t"), patch.scalar(10.0f)})); });
  EXPECT_EQ(run(), 30);
  live.publish(Model::from_text(R"(graph g(%x: f32[N], %s: f32[1,1] = [7]) {
    %t: f32[1,N] = Add(%x, %s)
    return t = %t
  })"),
               {});
  EXPECT_EQ(run(), 8);
  session.reset();
  EXPECT_EQ(run(), 8);
  EXPECT_THAT(message_of([&] { session.carry("u", "s"); }, Code::bad_input), HasSubstr("no output 'u'"));
}

TEST(LiveSession, ARequestThatFailsKeepsTheState) {
  LiveModel live(Model::from_text(R"(graph g(%x: f32[N], %s: f32[1] = [0]) {
    %t: f32[1] = ReduceSum(%x, i64[1] 0) {keepdims = 1}
    %u: f32[1] = Add(%t, %s)
    return u = %u
  })"));
  auto session = live.open();
  session.carry("u", "s");
  session.run({{"x", Array::of<float>({2}, {1, 2})}});
  EXPECT_THAT(message_of([&] { session.run({{"x", Array::of<double>({1}, {1})}}); }, Code::bad_input),
              HasSubstr("'x'"));
  EXPECT_EQ(session.run({{"x", Array::of<float>({1}, {4})}})["u"].number(0), 7);
}

TEST(LiveModel, APatchIsCommittedUnlessItsVersionIsOld) {
  LiveModel live(base());
  auto session = live.open();
  Patch first(live.current().model, "first"), second(live.current().model, "second");
  set_shift(first, 5);
  set_shift(second, 7);
  const Version made = live.commit(first, {"ada", "more"});
  EXPECT_EQ(made.number, 2u);
  EXPECT_THAT(made.change, HasSubstr("first"));
  EXPECT_THAT(message_of([&] { live.commit(second, {}); }, Code::bad_input), HasSubstr("not of version 2"));
  EXPECT_EQ(first_of(session), 25);
  second.commit();
}

TEST(LiveSession, InputsAreMadeForTheVersionThatRuns) {
  LiveModel live(base());
  auto session = live.open();
  live.edit({}, [](Patch& patch) { set_shift(patch, 5); });
  std::uint64_t seen = 0;
  const auto out = session.run_with([&](const Version& version) {
    seen = version.number;
    return std::vector<frazil::Named>{{version.model.inputs()[0].name, Array::of<float>({1}, {10})}};
  });
  EXPECT_EQ(seen, 2u);
  EXPECT_EQ(out[0].number(0), 25);
}

TEST(LiveModel, EditsWhileOthersRun) {
  constexpr int kEdits = 200;
  LiveModel live(base());
  std::atomic<int> wrong{0};
  const auto serve = [&](const std::atomic<bool>& done) {
    auto session = live.open();
    while (!done) {
      const float got = first_of(session);
      // Version v adds v - 1, the first one 1.
      if (got != 20 + std::max<float>(1, static_cast<float>(session.version() - 1))) ++wrong;
    }
  };
  beside(3, serve, [&] {
    for (int k = 1; k <= kEdits; ++k) {
      live.edit({}, [&](Patch& patch) { set_shift(patch, static_cast<float>(k)); });
      if (k > 3) live.forget(static_cast<std::uint64_t>(k - 2));
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(live.current().number, kEdits + 1u);
}

TEST(Diff, TellsLinesAndColours) {
  LiveModel live(base());
  const Model before = live.current().model;
  const Model after = live.edit({}, [](Patch& patch) { set_shift(patch, 5); }).model;
  EXPECT_EQ(diff(before, before), "");
  const std::string text = diff(before, after);
  EXPECT_THAT(text, HasSubstr("- return y = %y"));
  EXPECT_THAT(text, HasSubstr("\"shift_5\""));
  const std::string dot = diff_dot(before, after);
  EXPECT_THAT(dot, HasSubstr("palegreen"));
  EXPECT_THAT(diff_dot(after, before), HasSubstr("color=red"));
  EXPECT_EQ(diff_dot(before, before).find("palegreen"), std::string::npos);
}

}  // namespace
