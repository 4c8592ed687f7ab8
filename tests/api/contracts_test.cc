#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/message_of.h"
#include "api/square.h"

// What the public headers promise of calls that are wrong: an Error with a code and one line, nothing else.
namespace frazil {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Array kThree = Array::of<float>({1}, {3});

/// What is left of a value that was moved elsewhere.
template <class T>
T& moved_from(T& value) {
  const T elsewhere(std::move(value));
  return value;
}

struct Wrong {
  const char* name;
  Code code;
  const char* message;  ///< a part of it
  std::function<void()> call;
};
void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }

class Contracts : public testing::TestWithParam<Wrong> {};

TEST_P(Contracts, WrongCallsAreErrors) {
  EXPECT_THAT(message_of(GetParam().call, GetParam().code), HasSubstr(GetParam().message));
}

std::vector<Wrong> of_arrays() {
  const auto number = [](auto value) { return Array::scalar(value); };
  return {
      {"ElementTypeThatIsNone", Code::bad_input, "element type 99", [] { Array(static_cast<Dtype>(99), {2}); }},
      {"NameOfNoElementType", Code::bad_input, "element type 26", [] { name_of(static_cast<Dtype>(26)); }},
      {"BorrowedElementTypeThatIsNone", Code::bad_input, "element type 99",
       [] { Array::borrow(static_cast<Dtype>(99), {0}, {}); }},
      {"KeyOfReals", Code::bad_input, "a map's key", [=] { Array::map({{number(1.5f), kThree}}); }},
      {"KeyOfTwoElements", Code::bad_input, "i64[2]",
       [] { Array::map({{Array::of<std::int64_t>({2}, {1, 2}), kThree}}); }},
      {"NumberOfText", Code::bad_input, "no numbers", [=] { number(std::string("ice")).number(0); }},
      {"NumberBeforeTheFirst", Code::bad_input, "element -1", [] { kThree.number(-1); }},
      {"KindOfFileThatIsNone", Code::bad_input, "kind 9",
       [] { Array::read_pb("nowhere.pb", static_cast<Array::Kind>(9)); }},
      {"MovedFromArray", Code::bad_input, "got nothing",
       [] {
         Array array = Array::of<float>({1}, {3});
         (void)moved_from(array).sizes();
       }},
  };
}

std::vector<Wrong> of_results() {
  const auto results = [] { return square_model().open().run({{"x", kThree}}); };
  return {
      {"ResultBehindTheLast", Code::bad_input, "result 17 of 1", [=] { results()[17]; }},
      {"TakenResultBehindTheLast", Code::bad_input, "result 1 of 1", [=] { results().take(1); }},
      {"ResultOfNoName", Code::bad_input, "'z'", [=] { results()["z"]; }},
      {"ResultOfNoRun", Code::bad_input, "'y'", [] { Results()["y"]; }},
      {"MovedFromResults", Code::bad_input, "'y'",
       [=] {
         Results made = results();
         moved_from(made)["y"];
       }},
  };
}

std::vector<Wrong> of_sessions() {
  struct Case {
    const char* name;
    std::function<void(Session&)> call;
  };
  const Case cases[] = {
      {"RunOfAMovedSession", [](Session& s) { s.run({{"x", kThree}}); }},
      {"RunByPositionOfAMovedSession", [](Session& s) { s.run(std::vector{kThree}); }},
      {"FetchOfAMovedSession", [](Session& s) { s.fetch({{"x", kThree}}, {"y"}); }},
      {"RequestOfAMovedSession", [](Session& s) { s.run_async({kThree}); }},
      {"UnbindOfAMovedSession", [](Session& s) { s.unbind_output("y"); }},
      {"DeadlineOfAMovedSession", [](Session& s) { s.set_deadline(1); }},
      {"TrimOfAMovedSession", [](Session& s) { s.trim(); }},
      {"StopOfAMovedSession", [](Session& s) { s.set_stop(nullptr); }},
      {"ObserverOfAMovedSession", [](Session& s) { s.set_observer(nullptr); }},
      {"CountersOfAMovedSession", [](Session& s) { s.counters(); }},
  };
  std::vector<Wrong> all{
      {"InputGivenTwice", Code::bad_input, "input 'x' is given twice",
       [] { square_model().open().run({{"x", kThree}, {"x", Array::of<float>({1}, {4})}}); }},
      {"AbsentInputGivenTwice", Code::bad_input, "given twice",
       [] { square_model().open().run({{"x", Array()}, {"x", kThree}}); }},
      {"InputGivenTwiceToAFetch", Code::bad_input, "given twice",
       [] { square_model().open().fetch({{"x", kThree}, {"x", kThree}}, {}); }},
      {"TooManyInputs", Code::bad_input, "", [] { square_model().open().run(std::vector{kThree, kThree}); }},
      {"FetchOfNoName", Code::bad_input, "", [] { square_model().open().fetch({{"x", kThree}}, {""}); }},
      {"NoNumberOfMilliseconds", Code::bad_input, "deadline", [] { square_model().open({.deadline_ms = NAN}); }},
  };
  for (const Case& each : cases) {
    all.push_back({each.name, Code::bad_input, "the session was moved from", [each] {
                     Session session = square_model().open();
                     each.call(moved_from(session));
                   }});
  }
  return all;
}

std::vector<Wrong> of_graphs() {
  const auto with = [](const std::function<void(GraphBuilder&, Term)>& call) {
    return [call] {
      GraphBuilder graph;
      call(graph, graph.input("x", Dtype::f32, {2}));
    };
  };
  const auto patched = [](const std::function<void(Patch&)>& call) {
    return [call] {
      const Model model = square_model();
      Patch patch(model, "wrong");
      call(patch);
    };
  };
  return {
      {"InputWithoutName", Code::bad_model, "needs a name", with([](auto& g, Term) { g.input("", Dtype::f32, {}); })},
      {"InputOfTheSameName", Code::bad_model, "'x'", with([](auto& g, Term) { g.input("x", Dtype::f32, {}); })},
      {"InputOfNoElementType", Code::bad_model, "element type",
       with([](auto& g, Term) { g.input("z", static_cast<Dtype>(99), {}); })},
      {"OutputWithoutName", Code::bad_model, "needs a name", with([](auto& g, Term x) { g.output("", x); })},
      {"OutputOfTheSameName", Code::bad_model, "'y'", with([](auto& g, Term x) {
         g.output("y", x);
         g.output("y", x);
       })},
      {"AttributeGivenTwice", Code::bad_model, "'axis' is given twice",
       with([](auto& g, Term x) { g.op("Softmax", {x}, {{"axis", 0}, {"axis", -1}}); })},
      {"BodyWithoutFunction", Code::bad_input, "no function",
       with([](auto& g, Term x) { g.region("Loop", {Term(), Term(), x}, {{3, nullptr}}, {}, Body::kAll); })},
      {"SideWithoutFunction", Code::bad_input, "no function", with([](auto& g, Term) {
         const Term flag = g.input("flag", Dtype::boolean, {});
         g.if_else(flag, nullptr, nullptr);
       })},
      {"TypeOfATermFromElsewhere", Code::bad_input, "another graph", with([](auto&, Term x) {
         GraphBuilder other;
         other.type(x);
       })},
      {"NewInputOfAnOldName", Code::bad_model, "'x'",
       patched([](Patch& patch) { patch.input("x", Dtype::f32, {"N"}); })},
      {"NewInputsOfOneName", Code::bad_model, "'z'", patched([](Patch& patch) {
         patch.input("z", Dtype::f32, {"N"});
         patch.input("z", Dtype::f32, {"N"});
       })},
      {"NewOutputOfAnOldName", Code::bad_model, "'y'",
       patched([](Patch& patch) { patch.add_output("y", patch.tap("x")); })},
      {"RemovedOutputThatIsNone", Code::bad_model, "'z'", patched([](Patch& patch) { patch.remove_output("z"); })},
      {"TermOfANewBody", Code::bad_input, "outside of its body", patched([](Patch& patch) {
         Term inner;
         const Term flag = patch.constant(Array::scalar(true));
         const auto side = [&](Body& body) { return std::vector{inner = body.op("Neg", {patch.tap("x")})}; };
         patch.if_else(flag, side, side);
         patch.op("Neg", {inner});
       })},
  };
}

std::vector<Wrong> of_live_models() {
  return {
      {"NoVersionsKept", Code::bad_input, "most_versions", [] { LiveModel(square_model(), {}, 0); }},
      {"EditWithoutFunction", Code::bad_input, "no function", [] { LiveModel(square_model()).edit({}, nullptr); }},
      {"InputsWithoutFunction", Code::bad_input, "no function",
       [] { LiveModel(square_model()).open().run_with(nullptr); }},
      {"InputGivenTwiceToALiveSession", Code::bad_input, "given twice",
       [] { LiveModel(square_model()).open().run({{"x", kThree}, {"x", kThree}}); }},
      {"RunOfAMovedLiveSession", Code::bad_input, "moved from",
       [] {
         LiveSession session = LiveModel(square_model()).open();
         moved_from(session).run({{"x", kThree}});
       }},
      {"VersionOfAMovedLiveSession", Code::bad_input, "moved from",
       [] {
         LiveSession session = LiveModel(square_model()).open();
         moved_from(session).version();
       }},
      {"CarryOfAMovedLiveSession", Code::bad_input, "moved from",
       [] {
         LiveSession session = LiveModel(square_model()).open();
         moved_from(session).carry("y", "x");
       }},
      {"MovedDebugger", Code::bad_input, "the debugger was moved from",
       [] {
         Debugger debugger(square_model());
         moved_from(debugger).step();
       }},
      {"ValueOfNoName", Code::bad_input, "", [] { Debugger(square_model()).value(""); }},
      {"ComparedInputGivenTwice", Code::bad_input, "given twice",
       [] {
         const std::vector<Named> inputs{{"x", kThree}, {"x", kThree}};
         compare(square_model(), square_model(), inputs);
       }},
      {"ModelOfNoName", Code::bad_input, "''", [] { Registry::instance().get(""); }},
      {"AttributesOfNoNode", Code::bad_input, "'axis'", [] { NodeAttributes().integer("axis"); }},
  };
}

std::vector<Wrong> of_lazy_arrays() {
  return {
      {"ValueOfAnOmittedArray", Code::bad_input, "omitted", [] { LazyArray().value(); }},
      {"TypeOfAnOmittedArray", Code::bad_input, "omitted", [] { LazyArray().dtype(); }},
      {"ShapeOfAnOmittedArray", Code::bad_input, "omitted", [] { LazyArray().shape(); }},
      {"NumberBesideAnOmittedArray", Code::bad_model, "missing", [] { LazyArray() + 1; }},
      {"RowOfNoParameter", Code::bad_input, "not a parameter", [] { row(LazyArray(kThree), 0); }},
      {"RowBehindTheLast", Code::bad_input, "row 1", [] { row(parameter(kThree), 1); }},
      {"OperatorWithoutOutputs", Code::bad_model, "got 0", [] { Operator("Abs", {}, 0); }},
      {"OperatorWithTooManyOutputs", Code::bad_model, "got 2", [] { Operator("Abs", {}, 2); }},
      {"PartsLessThanOne", Code::bad_input, "-1", [] { split(LazyArray(kThree), -1); }},
      {"FunctionWithoutCode", Code::bad_input, "'f'", [] { Function("f", nullptr); }},
      {"BatchOfNothingAtOnce", Code::bad_input, "at_once",
       [] { batch(std::vector{1}, [](int) { return LazyArray(kThree); }, {.at_once = 0}); }},
      {"BatchWithoutStack", Code::bad_input, "stack_bytes",
       [] { batch(std::vector{1}, [](int) { return LazyArray(kThree); }, {.stack_bytes = 0}); }},
      {"BranchWithoutCode", Code::bad_input, "no code", [] { cond(Array::scalar(true), nullptr, nullptr); }},
      {"LoopWithoutCode", Code::bad_input, "no code", [] { loop(nullptr, nullptr, {}); }},
      {"RequestWithTooManyInputs", Code::bad_input, "2 inputs",
       [] {
         const std::vector<std::vector<Array>> requests{{kThree, kThree}};
         BatchedModel(square_model()).run(requests);
       }},
      {"TracedFunctionOfTwoArrays", Code::bad_input, "returns 2 arrays, not 1",
       [] {
         const Function two("two", [](std::span<const LazyArray> x) { return Arrays{x[0], x[0]}; });
         const Function one("one", [&](std::span<const LazyArray> x) {
           Arrays made(1);
           const Operand argument(x[0]);
           two.call(std::span(&argument, 1), made);
           return made;
         });
         const LazyArray x(kThree);
         const Operand argument(x);
         one.call(std::span(&argument, 1));
       }},
  };
}

const auto name_of_case = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Arrays, Contracts, testing::ValuesIn(of_arrays()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Results, Contracts, testing::ValuesIn(of_results()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Sessions, Contracts, testing::ValuesIn(of_sessions()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Graphs, Contracts, testing::ValuesIn(of_graphs()), name_of_case);
INSTANTIATE_TEST_SUITE_P(LiveModels, Contracts, testing::ValuesIn(of_live_models()), name_of_case);
INSTANTIATE_TEST_SUITE_P(LazyArrays, Contracts, testing::ValuesIn(of_lazy_arrays()), name_of_case);

TEST(MovedFrom, HandlesStayValid) {
  Model model = square_model();
  EXPECT_EQ(moved_from(model).open().run({{"x", kThree}})["y"].item<float>(), 9);
  LiveModel live(model);
  EXPECT_EQ(moved_from(live).current().number, 1u);
  BatchedModel batched(model);
  const std::vector<std::vector<Array>> requests{{kThree}};
  EXPECT_EQ(moved_from(batched).run(requests)[0][0].item<float>(), 9);
  Function twice("twice", [](std::span<const LazyArray> x) { return Arrays{x[0] + x[0]}; });
  const LazyArray x(kThree);
  const Operand argument(x);
  EXPECT_EQ(moved_from(twice).call(std::span(&argument, 1))[0].item<float>(), 6);
}

TEST(MovedFrom, SessionsAreCancelledAndAssigned) {
  Session session = square_model().open();
  moved_from(session).cancel();
  session = square_model().open();
  EXPECT_EQ(session.run({{"x", kThree}})["y"].item<float>(), 9);
}

/// A live model keeps so many versions, and the current one whatever happens.
TEST(LiveModels, KeepTheirLastVersions) {
  LiveModel live(square_model(), {}, 3);
  for (int i = 2; i <= 7; ++i) live.roll_back(live.current().number, {"ada", "again"});
  std::vector<std::uint64_t> numbers;
  for (const Version& version : live.history()) numbers.push_back(version.number);
  EXPECT_THAT(numbers, ElementsAre(5, 6, 7));
  EXPECT_THAT(message_of([&] { live.version(4); }, Code::bad_input), HasSubstr("no version 4"));
  EXPECT_EQ(live.open().run({{"x", kThree}})["y"].item<float>(), 9);
}

/// Names of a patch's outputs are free again once the output is removed.
TEST(Patches, AnOutputTakesTheNameOfARemovedOne) {
  Patch patch(square_model(), "swap");
  patch.remove_output("y");
  patch.add_output("y", patch.op("Neg", {patch.tap("x")}));
  EXPECT_EQ(patch.commit().open().run({{"x", kThree}})["y"].item<float>(), -3);
}

/// y = Neg(Relu(x)) where c holds, else Abs(x).
Model branches() {
  GraphBuilder graph("branches");
  const Term c = graph.input("c", Dtype::boolean, {}), x = graph.input("x", Dtype::f32, {"N"});
  const auto then = [&](Body& body) {
    return std::vector{body.op("Neg", {body.op("Relu", {x}, {}, "relu")}, {}, "neg")};
  };
  const auto otherwise = [&](Body& body) { return std::vector{body.op("Abs", {x})}; };
  graph.output("y", graph.if_else(c, then, otherwise)[0]);
  return graph.build();
}

TEST(Patches, PutABodyIntoABody) {
  const Model model = branches();
  Patch patch(model, "skip");
  const Term relu = patch.tap("relu");
  const Term large = patch.op("Greater", {patch.op("ReduceMax", {relu}, {{"keepdims", 0}}), patch.scalar(1.0f)});
  const auto kept = patch.if_else(
      large, [&](Body& body) { return std::vector{body.op("Mul", {relu, body.scalar(10.0f)})}; },
      [&](Body& body) { return std::vector{body.op("Identity", {relu})}; });
  patch.replace("relu", kept[0]);
  auto session = patch.commit().open();
  const auto run = [&](bool c, float x) {
    return session.run({{"c", Array::scalar(c)}, {"x", Array::of<float>({1}, {x})}})["y"].item<float>();
  };
  EXPECT_EQ(run(true, 3), -30);
  EXPECT_EQ(run(true, 0.5F), -0.5F);
  EXPECT_EQ(run(false, -3), 3);
}

}  // namespace
}  // namespace frazil
