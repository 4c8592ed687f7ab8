#include <atomic>
#include <thread>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/beside.h"
#include "api/message_of.h"

// Graphs that call models of the registry by name.
namespace {

using frazil::Array;
using frazil::Code;
using frazil::LiveModel;
using frazil::Model;
using frazil::Patch;
using frazil::Registry;
using testing::HasSubstr;

Model scaled(float by) {
  return Model::from_text("graph g(%x: f32[N,2]) { %y = Mul(%x, f32[] " + std::to_string(by) + ") return y = %y }");
}

std::string caller(std::string_view attributes) {
  return "graph c(%a: f32[M,2]) { %r = frazil::Call(%a) {" + std::string(attributes) +
         "} \"call\" %s = Neg(%r) return s = %s }";
}
constexpr std::string_view kContract = R"(model = "head", takes = ["f32[N,2]"], gives = ["f32[N,2]"])";

class Calls : public testing::Test {
 protected:
  void SetUp() override { Registry::instance().put("head", live); }
  void TearDown() override {
    for (const std::string& name : Registry::instance().names()) Registry::instance().remove(name);
  }
  float second_of(frazil::Session& session) {
    return session.run({{"a", Array::of<float>({1, 2}, {1, 3})}})["s"].values<float>()[1];
  }
  LiveModel live{scaled(2)};
};

TEST_F(Calls, TheCurrentVersionIsCalled) {
  auto session = Model::from_text(caller(kContract)).open();
  EXPECT_EQ(second_of(session), -6);
  live.publish(scaled(5), {});
  EXPECT_EQ(second_of(session), -15);
  live.edit({}, [](Patch& patch) { patch.replace("y", patch.op("Neg", {patch.tap("y")})); });
  EXPECT_EQ(second_of(session), 15);
  Registry::instance().put("head", LiveModel(scaled(7)));
  EXPECT_EQ(second_of(session), -21);
}

TEST_F(Calls, AVersionIsCalledByItsNumber) {
  live.publish(scaled(5), {});
  auto session = Model::from_text(caller(std::string(kContract) + ", version = 1")).open();
  EXPECT_EQ(second_of(session), -6);
  live.forget(1);
  EXPECT_THAT(message_of([&] { second_of(session); }, Code::bad_input),
              HasSubstr("node 'call' (Call): the model has no version 1"));
}

TEST_F(Calls, OnTheReferenceExecutorToo) {
  auto session = Model::from_text(caller(kContract)).open({.tier = "ref"});
  EXPECT_EQ(second_of(session), -6);
}

TEST_F(Calls, ContractsAreCheckedWhenAGraphIsLoaded) {
  const std::pair<std::string, std::string> cases[] = {
      {R"(model = "tail", takes = ["f32[N,2]"], gives = ["f32[N,2]"])", "there is no model 'tail' in the registry"},
      {R"(model = "head", version = 9, takes = ["f32[N,2]"], gives = ["f32[N,2]"])", "has no version 9"},
      {R"(model = "head", version = -1, takes = ["f32[N,2]"], gives = ["f32[N,2]"])", "version -1 is negative"},
      {R"(model = "head", takes = ["f32[N,2]"], gives = ["i64[N,2]"])", "output 'y' of its model is f32[N,2]"},
      {R"(model = "head", takes = ["f32[N,2]"], gives = ["f32[N,3]"])", "output 'y' of its model is f32[N,2]"},
      {R"(model = "head", takes = ["f32[N,2]"], gives = ["f32[N]"])", "output 'y' of its model is f32[N,2]"},
      {R"(model = "head", takes = ["i64[N,2]"], gives = ["f32[N,2]"])", "input 0: expected i64[N,2], got f32[M,2]"},
      {R"(model = "head", takes = ["f32[N,3]"], gives = ["f32[N,3]"])", "extent '3' of input 0"},
      {R"(model = "head", takes = [], gives = ["f32[N,2]"])", "its contract has 0 inputs and 1 outputs"},
      {R"(model = "head", takes = ["f32[N,"], gives = ["f32[N,2]"])", "'f32[N,' is not a type"},
  };
  for (const auto& [attributes, what] : cases) {
    EXPECT_THAT(message_of([&] { Model::from_text(caller(attributes)); }, Code::bad_model), HasSubstr(what))
        << attributes;
  }
}

TEST_F(Calls, AModelThatNoLongerFitsIsToldByTheNode) {
  auto session = Model::from_text(caller(kContract)).open();
  EXPECT_EQ(second_of(session), -6);
  live.publish(Model::from_text("graph g(%x: f32[N,2]) { %y = Concat(%x, %x) {axis = 0} return y = %y }"), {});
  EXPECT_THAT(message_of([&] { second_of(session); }, Code::bad_input), HasSubstr("node 'call' (Call): model 'head'"));
  live.publish(Model::from_text("graph g(%x: f32[N,2], %z: f32[N,2]) { %y = Add(%x, %z) return y = %y }"), {});
  EXPECT_THAT(message_of([&] { second_of(session); }, Code::bad_input), HasSubstr("node 'call' (Call)"));
  live.publish(scaled(3), {});
  EXPECT_EQ(second_of(session), -9);
  Registry::instance().remove("head");
  EXPECT_THAT(message_of([&] { second_of(session); }, Code::bad_input), HasSubstr("there is no model 'head'"));
}

TEST_F(Calls, AModelThatCallsItselfMeetsALimit) {
  const Model endless = Model::from_text(
      R"(graph c(%a: f32[N,2]) { %r = frazil::Call(%a) {model = "head", takes = ["f32[N,2]"], gives = ["f32[N,2]"]} )"
      R"("call" return y = %r })");
  live.publish(endless, {});
  auto session = Model::from_text(caller(kContract)).open();
  EXPECT_THAT(message_of([&] { second_of(session); }, Code::limit), HasSubstr("more than 32 deep"));
}

TEST_F(Calls, EachRegistryHasModelsOfItsOwn) {
  const auto one = std::make_shared<Registry>(), two = std::make_shared<Registry>();
  one->put("head", LiveModel(scaled(3)));
  two->put("head", LiveModel(scaled(4)));
  const auto loaded = [&](std::shared_ptr<const Registry> registry) {
    return Model::from_text(caller(kContract), {}, {.registry = std::move(registry)});
  };
  for (const char* const tier : {"ref", "0", "1"}) {
    auto usual = loaded(nullptr).open({.tier = tier}), first = loaded(one).open({.tier = tier}),
         second = loaded(two).open({.tier = tier});
    EXPECT_EQ(second_of(usual), -6) << tier;
    EXPECT_EQ(second_of(first), -9) << tier;
    EXPECT_EQ(second_of(second), -12) << tier;
  }
  EXPECT_THAT(one->names(), testing::ElementsAre("head"));
}

TEST_F(Calls, EditsKeepTheRegistry) {
  const auto own = std::make_shared<Registry>();
  own->put("head", LiveModel(scaled(3)));
  LiveModel edited(Model::from_text(caller(kContract), {}, {.registry = own}));
  edited.edit({}, [](Patch& patch) { patch.replace("s", patch.op("Neg", {patch.tap("s")})); });
  auto session = edited.current().model.open();
  EXPECT_EQ(second_of(session), 9);
}

TEST_F(Calls, NeedTheirRegistry) {
  auto own = std::make_shared<Registry>();
  own->put("head", LiveModel(scaled(3)));
  auto session = Model::from_text(caller(kContract), {}, {.registry = own}).open();
  EXPECT_EQ(second_of(session), -9);
  own.reset();
  EXPECT_THAT(message_of([&] { second_of(session); }, Code::bad_input),
              HasSubstr("node 'call' (Call): there is no model 'head': the registry of the calling model has ended"));
}

TEST_F(Calls, AreListedAndCheckedLater) {
  const auto own = std::make_shared<Registry>();
  const Model model =
      Model::from_text(caller(std::string(kContract) + ", version = 2"), {}, {.registry = own, .check_calls = false});
  ASSERT_EQ(model.calls(), std::vector<frazil::ModelCall>({{"node 'call' (Call)", "head", 2}}));
  EXPECT_THAT(message_of([&] { model.check_calls(); }, Code::bad_model), HasSubstr("there is no model 'head'"));
  own->put("head", LiveModel({{2, scaled(3)}}, {}));
  model.check_calls();
  EXPECT_THAT(scaled(2).calls(), testing::IsEmpty());
}

TEST_F(Calls, AreNotRegroupedWithARegistryOfTheirOwn) {
  const auto own = std::make_shared<Registry>();
  own->put("head", LiveModel(scaled(3)));
  const Model model = Model::from_text(caller(kContract), {}, {.registry = own});
  EXPECT_THAT(message_of([&] { frazil::BatchedModel batched(model); }, Code::unsupported),
              HasSubstr("node 'call' (Call): work cannot be regrouped"));
}

TEST_F(Calls, CancellingTheCallerEndsTheCall) {
  live.publish(Model::from_text("graph g(%x: f32[N,2]) { %y = Loop(_, bool[] true, %x) body(%i, %c, %v) { "
                                "%w = Add(%v, f32[] 1) yield %c, %w } return y = %y }"),
               {});
  auto session = Model::from_text(caller(kContract)).open();
  auto future = session.run_async({Array::of<float>({1, 2}, {1, 3})});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  session.cancel();
  EXPECT_THAT(message_of([&] { future.get(); }, Code::cancelled), HasSubstr("cancelled"));
  session.set_deadline(20);
  EXPECT_THAT(message_of([&] { second_of(session); }, Code::limit), HasSubstr("deadline of 20 ms"));
}

TEST(Stop, ThatIsSetBeforeARunEndsIt) {
  auto session = Model::from_text(
                     "graph g(%x: f32[]) { %y = Loop(_, bool[] true, %x) body(%i, %c, %v) { "
                     "%w = Add(%v, f32[] 1) yield %c, %w } return y = %y }")
                     .open();
  std::atomic<bool> stop = true;
  session.set_stop(&stop);
  session.cancel();  // of no run
  EXPECT_THAT(message_of([&] { session.run({{"x", Array::scalar(1.0F)}}); }, Code::cancelled), HasSubstr("cancelled"));
  session.set_stop(nullptr);
}

TEST_F(Calls, ThreadsCallWhileVersionsChange) {
  const Model model = Model::from_text(caller(kContract));
  std::atomic<int> wrong{0};
  const auto serve = [&](const std::atomic<bool>& done) {
    auto session = model.open();
    while (!done) {
      const float got = second_of(session);
      wrong += got != -6 && got != -15;
    }
  };
  beside(3, serve, [&] {
    for (int i = 0; i < 50; ++i) live.publish(scaled(i % 2 == 0 ? 5.0f : 2.0f), {});
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
