#include <atomic>
#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/endless.h"
#include "api/square.h"

namespace {

using frazil::Array;
using frazil::Body;
using frazil::Code;
using frazil::Dtype;
using frazil::Error;
using frazil::GraphBuilder;
using frazil::Model;
using frazil::Options;
using frazil::Term;
using testing::ElementsAre;
using testing::HasSubstr;

Code code_of(auto&& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return Code::internal;
}

TEST(Session, RunsByNameAndByPosition) {
  auto session = square_model().open();
  const Array x = Array::of<float>({3}, {1, 2, 3});
  EXPECT_THAT(session.run({{"x", x}})["y"].values<float>(), ElementsAre(1, 4, 9));
  EXPECT_THAT(session.run(std::vector{x})[0].values<float>(), ElementsAre(1, 4, 9));
}

TEST(Session, EveryTierAgrees) {
  for (const char* tier : {"auto", "0", "ref"}) {
    auto session = square_model().open({.tier = tier});
    EXPECT_THAT(session.run({{"x", Array::of<float>({2}, {3, -4})}})["y"].values<float>(), ElementsAre(9, 16)) << tier;
  }
}

/// Appends one position to a cache along axis 1.
Model cache() {
  GraphBuilder graph("cache");
  const Term past = graph.input("past", Dtype::f32, {2, "T"}), item = graph.input("new", Dtype::f32, {2, 1});
  graph.output("present", graph.op("Concat", {past, item}, {{"axis", 1}}));
  return graph.build();
}

TEST(Session, ResultsThatAreCarriedOnStayWhatTheyAre) {
  auto session = cache().open();
  std::vector<Array> kept{Array::of<float>({2, 1}, {0, 100})};
  for (int i = 1; i < 50; ++i) {
    const auto at = static_cast<float>(i);
    kept.push_back(session.run(std::vector{kept.back(), Array::of<float>({2, 1}, {at, 100 + at})})["present"]);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto columns = static_cast<std::int64_t>(i) + 1;
    ASSERT_THAT(kept[i].sizes(), ElementsAre(2, columns));
    const auto values = kept[i].values<float>();
    for (std::int64_t k = 0; k < 2 * columns; ++k) {
      EXPECT_EQ(values[static_cast<std::size_t>(k)], static_cast<float>(k / columns * 100 + k % columns));
      EXPECT_EQ(kept[i].number(k), values[static_cast<std::size_t>(k)]);
    }
  }
  EXPECT_EQ(kept[20].data(), kept[20].data());
}

TEST(Session, AValueThatIsCarriedOnMayBeWrittenTo) {
  auto session = cache().open();
  Array past = Array::of<float>({2, 1}, {1, 2});
  const Array item = Array::of<float>({2, 1}, {3, 4});
  for (int i = 0; i < 3; ++i) past = session.run(std::vector{past, item})["present"];
  Array edited = past;
  edited.mutable_values<float>()[0] = 9;
  EXPECT_THAT(past.values<float>(), ElementsAre(1, 3, 3, 3, 2, 4, 4, 4));
  const Array next = session.run(std::vector{edited, item})["present"];
  EXPECT_THAT(next.values<float>(), ElementsAre(9, 3, 3, 3, 3, 2, 4, 4, 4, 4));
  EXPECT_THAT(session.run(std::vector{past, item})["present"].values<float>(),
              ElementsAre(1, 3, 3, 3, 3, 2, 4, 4, 4, 4));
}

TEST(Session, AnotherModelReadsWhatIsCarriedOn) {
  auto session = cache().open();
  Array past = Array::of<float>({2, 1}, {1, 2});
  for (int i = 0; i < 3; ++i) past = session.run(std::vector{past, Array::of<float>({2, 1}, {3, 4})})["present"];
  GraphBuilder graph("negate");
  graph.output("y", graph.op("Neg", {graph.input("x", Dtype::f32, {"N", "M"})}));
  const Model negate = graph.build();
  for (const char* tier : {"0", "ref"}) {
    auto other = negate.open({.tier = tier});
    EXPECT_THAT(other.run({{"x", past}})["y"].values<float>(), ElementsAre(-1, -3, -3, -3, -2, -4, -4, -4)) << tier;
  }
}

TEST(Session, ResultsReuseTheirMemoryUnlessItIsShared) {
  auto session = square_model().open();
  const std::vector inputs{Array::of<float>({3}, {1, 2, 3})};
  auto results = session.run(inputs);
  const void* memory = results["y"].data();
  session.run(inputs, results);
  EXPECT_EQ(results["y"].data(), memory);
  const Array kept = results["y"];
  session.run(std::vector{Array::of<float>({3}, {4, 5, 6})}, results);
  EXPECT_NE(results["y"].data(), memory);
  EXPECT_THAT(kept.values<float>(), ElementsAre(1, 4, 9));
}

TEST(Session, TakesBorrowedMemory) {
  auto memory = std::make_shared<std::vector<float>>(std::vector<float>{2, 4});
  auto session = square_model().open();
  const Array x = Array::borrow(Dtype::f32, {2}, std::as_bytes(std::span(*memory)), memory);
  EXPECT_EQ(x.data(), memory->data());
  EXPECT_THAT(session.run({{"x", x}})["y"].values<float>(), ElementsAre(4, 16));
}

TEST(Session, CountsWhatItDoes) {
  auto session = square_model().open();
  for (std::int64_t n : {3, 3, 5}) session.run({{"x", Array(Dtype::f32, {n})}});
  EXPECT_EQ(session.counters().runs, 3);
  EXPECT_EQ(session.counters().plans, 1);
  EXPECT_GE(session.counters().shape_changes, 2);
}

TEST(Session, FaultsNameTheInputAndTheSessionLivesOn) {
  auto session = square_model().open();
  try {
    session.run({{"x", Array::of<double>({1}, {1})}});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::bad_input);
    EXPECT_STREQ(error.what(), "input 'x': expected f32[N], got f64[1]");
  }
  EXPECT_EQ(code_of([&] { session.run({{"z", Array::scalar(1.0f)}}); }), Code::bad_input);
  EXPECT_EQ(code_of([&] { session.run(std::vector<Array>{}); }), Code::bad_input);
  EXPECT_THAT(session.run({{"x", Array::of<float>({1}, {3})}})["y"].values<float>(), ElementsAre(9));
}

TEST(Session, OptionsAreChecked) {
  const Model model = square_model();
  EXPECT_EQ(code_of([&] { model.open({.tier = "fast"}); }), Code::bad_input);
  EXPECT_EQ(code_of([&] { model.open({.deadline_ms = -1}); }), Code::bad_input);
}

TEST(Session, LimitsStopARun) {
  const Array x = Array::scalar(0.0f);
  auto steps = endless().open({.max_steps = 1000});
  EXPECT_EQ(code_of([&] { steps.run({{"x", x}}); }), Code::limit);
  auto time = endless().open({.deadline_ms = 20});
  EXPECT_EQ(code_of([&] { time.run({{"x", x}}); }), Code::limit);
  auto memory = square_model().open({.memory_limit = 1000});
  EXPECT_EQ(code_of([&] { memory.run({{"x", Array(Dtype::f32, {1000})}}); }), Code::limit);
}

TEST(Session, TrimGivesBackWhatStays) {
  GraphBuilder graph("stays");
  const Term x = graph.input("x", Dtype::f32, {"N", 8}), n = graph.input("n", Dtype::i64, {});
  const Term product = graph.op("MatMul", {x, graph.op("Transpose", {x}, {{"perm", {1, 0}}})});
  const auto grown = graph.loop(n, {}, {product}, [&](Body& body, std::span<const Term> p) {
    return std::vector{p[1], body.op("Concat", {p[2], p[2]}, {{"axis", 0}})};
  });
  graph.output("y", graph.op("ReduceSum", {grown[0]}));
  auto session = graph.build().open();
  const std::vector inputs{Array::of<float>({4, 8}, std::vector<float>(32, 1)), Array::scalar<std::int64_t>(3)};
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(session.run(inputs)["y"].item<float>(), 8 * 16 * 8);
    EXPECT_GT(session.counters().held_bytes, 0u);
    session.trim();
    EXPECT_EQ(session.counters().held_bytes, 0u);
  }
}

TEST(Session, AnArenaLimitEndsRunsThatWouldKeepMore) {
  auto session = square_model().open({.arena_limit = 0});
  EXPECT_EQ(session.run({{"x", Array::of<float>({1}, {3})}})["y"].item<float>(), 9) << "its values are results";
  GraphBuilder graph("keeps");
  const Term x = graph.input("x", Dtype::f32, {"N", "N"});
  graph.output("y", graph.op("MatMul", {graph.op("MatMul", {x, x}, {}, "first"), x}));
  auto keeps = graph.build().open({.arena_limit = 100'000});
  const auto sized = [](std::int64_t n) { return Array(Dtype::f32, {n, n}); };
  EXPECT_EQ(code_of([&] { keeps.run({{"x", sized(1000)}}); }), Code::limit);
  EXPECT_EQ(keeps.run({{"x", sized(20)}})["y"].count(), 400);
}

TEST(Session, CancelEndsARun) {
  auto session = endless().open();
  struct Started : frazil::Observer {
    std::atomic<bool> seen{false};
    void iteration(const frazil::NodeEvent&) override { seen = true; }
  } started;
  session.set_observer(&started);
  std::thread stopper([&] {
    while (!started.seen) std::this_thread::yield();
    session.cancel();
  });
  EXPECT_EQ(code_of([&] { session.run({{"x", Array::scalar(0.0f)}}); }), Code::cancelled);
  stopper.join();
}

/// Units of work for several threads.
Model wide() {
  GraphBuilder graph("wide");
  Term x = graph.input("x", Dtype::f32, {400, 300});
  Term p = graph.op("MatMul", {x, graph.op("Transpose", {x}, {{"perm", {1, 0}}})});
  graph.output("y", graph.op("Abs", {graph.op("Mul", {p, graph.scalar(0.3f)})}));
  return graph.build();
}

std::vector<float> values_of(const Model& model, const Options& options, const std::vector<Array>& inputs = {}) {
  const auto results = model.open(options).run(std::span<const Array>(inputs));
  const auto values = results[0].values<float>();
  return {values.begin(), values.end()};
}

TEST(Session, ResultsDoNotDependOnTheNumberOfThreads) {
  Array x(Dtype::f32, {400, 300});
  int k = 0;
  for (float& v : x.mutable_values<float>()) v = std::sin(static_cast<float>(++k));
  const Model model = wide();
  const auto one = values_of(model, {.threads = 1}, {x});
  for (const unsigned threads : {2u, 3u, 0u}) EXPECT_EQ(values_of(model, {.threads = threads}, {x}), one) << threads;
  EXPECT_EQ(values_of(model, {.threads = 2, .strict_numerics = true}, {x}), one);
}

TEST(Session, TooManyThreadsAreRefused) {
  const Model model = square_model();
  EXPECT_EQ(code_of([&] { model.open({.threads = 1025}); }), Code::bad_input);
  try {
    model.open({.threads = 1025});
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "Options::threads: expected at most 1024, got 1025");
  }
}

TEST(Session, TheSeedIsThatOfRandomOperatorsWithout) {
  GraphBuilder graph("random");
  graph.output("y", graph.op("RandomNormal", {}, {{"shape", {3, 4}}}));
  const Model free = graph.build();
  for (const char* tier : {"0", "ref"}) {
    const auto drawn = [&](std::uint64_t seed) { return values_of(free, {.tier = tier, .seed = seed}); };
    EXPECT_EQ(drawn(7), drawn(7));
    EXPECT_EQ(drawn(0), values_of(free, {.tier = tier}));
    EXPECT_NE(drawn(7), drawn(8));
    EXPECT_NE(drawn(7), drawn(0));
    EXPECT_NE(drawn(1), drawn(std::uint64_t{1} << 63));
    auto session = free.open({.tier = tier, .seed = 7});
    const Array first = session.run({})[0], second = session.run({})[0];
    EXPECT_NE(first.str(), second.str()) << "a session draws on";
  }
  EXPECT_EQ(values_of(free, {.tier = "0", .seed = 9}), values_of(free, {.tier = "ref", .seed = 9}));
}

TEST(Session, TheSeedDoesNotTouchOperatorsWithTheirOwn) {
  GraphBuilder graph("seeded");
  graph.output("y", graph.op("RandomNormal", {}, {{"shape", {3, 4}}, {"seed", 5.0}}));
  const Model model = graph.build();
  EXPECT_EQ(values_of(model, {.seed = 1}), values_of(model, {.seed = 2}));
}

TEST(Session, ThreadsShareAModel) {
  const Model model = square_model();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto session = model.open();
      for (int i = 0; i < 50; ++i) {
        const auto v = static_cast<float>(t * 100 + i);
        right += session.run({{"x", Array::of<float>({1}, {v})}})["y"].item<float>() == v * v;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
}

struct Recorder : frazil::Observer {
  std::vector<std::string> log;
  void run_begin() override { log.push_back("run"); }
  void run_end() override { log.push_back("end"); }
  void node_begin(const frazil::NodeEvent& e) override { log.push_back(std::string(e.op) + " " + std::string(e.name)); }
  void branch(const frazil::NodeEvent& e, bool side) override {
    log.push_back("branch " + std::string(e.name) + (side ? " then" : " else"));
  }
  void iteration(const frazil::NodeEvent& e) override { log.push_back("iteration " + std::string(e.name)); }
};

TEST(Observer, SeesNodesAndBranchesByName) {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {"N"});
  Term flag = graph.input("flag", Dtype::boolean, {});
  const auto y = graph.if_else(
      flag, [&](Body& body) { return std::vector{body.op("Softplus", {x}, {}, "left")}; },
      [&](Body& body) {
        return std::vector{
            body.op("ReduceMax", {x, body.constant(Array::of<std::int64_t>({1}, {0}))}, {{"keepdims", 1}}, "right")};
      },
      "choice");
  graph.output("y", y[0]);
  auto session = graph.build().open();
  Recorder recorder;
  session.set_observer(&recorder);
  session.run({{"x", Array::of<float>({2}, {1, 2})}, {"flag", Array::scalar(false)}});
  EXPECT_THAT(recorder.log, testing::Contains("branch choice else"));
  EXPECT_THAT(recorder.log, testing::Contains("ReduceMax right"));
  EXPECT_THAT(recorder.log, testing::Not(testing::Contains("Softplus left")));
  EXPECT_EQ(recorder.log.front(), "run");
  EXPECT_EQ(recorder.log.back(), "end");
}

TEST(Observer, SeesIterations) {
  auto session = endless().open({.max_steps = 200});
  Recorder recorder;
  session.set_observer(&recorder);
  EXPECT_EQ(code_of([&] { session.run({{"x", Array::scalar(0.0f)}}); }), Code::limit);
  EXPECT_GT(std::ranges::count_if(recorder.log, [](const auto& l) { return l.starts_with("iteration"); }), 3);
}

struct Watcher : frazil::Observer {
  std::vector<std::string> names;
  std::map<std::string, Array> values;
  std::vector<std::string> wanted() const override { return names; }
  void value(const frazil::ValueEvent& e) override {
    std::string name(e.name);
    for (const auto i : e.iterations) name += " " + std::to_string(i);
    values[name] = e.value;
  }
};

TEST(Observer, SeesTheValuesThatItWants) {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {"N"});
  Term sum = graph.op("Add", {x, x}, {}, "sum");
  graph.output("y", graph.op("Exp", {graph.op("Neg", {sum}, {}, "minus")}, {}, "last"));
  const Model model = graph.build();
  for (const char* tier : {"0", "ref"}) {
    auto session = model.open({.tier = tier});
    Watcher watcher;
    watcher.names = {"sum", "minus:0", "x"};
    session.set_observer(&watcher);
    session.run({{"x", Array::of<float>({2}, {1, 2})}});
    EXPECT_EQ(watcher.values.at("sum").str(), "f32[2] [2, 4]") << tier;
    EXPECT_EQ(watcher.values.at("minus:0").str(), "f32[2] [-2, -4]") << tier;
    EXPECT_EQ(watcher.values.at("x").str(), "f32[2] [1, 2]") << tier;
  }
}

TEST(Observer, AskingForWhatTheModelDoesNotHaveThrows) {
  auto session = square_model().open();
  Watcher watcher;
  watcher.names = {"nowhere"};
  EXPECT_EQ(code_of([&] { session.set_observer(&watcher); }), Code::bad_input);
  EXPECT_NO_THROW(session.run({{"x", Array::of<float>({1}, {3})}}));
}

struct NoMul : frazil::Policy {
  bool run = true;
  std::optional<std::string> check_load(const Model& model) override {
    const auto ops = model.operators();
    if (std::ranges::find(ops, "Mul") != ops.end()) return "Mul is not allowed here";
    return std::nullopt;
  }
  std::optional<std::string> check_run(const Model&) override {
    return run ? std::nullopt : std::optional<std::string>("not now");
  }
};

TEST(Ragged, RowsOfRequestsAreJoined) {
  const Model model = Model::from_text(R"(graph g(%x: f32[L,N,1]) {
    %y = RNN(%x, f32[1,1,1] [1], f32[1,1,1] [0.5]) {hidden_size = 1, activations = ["Affine"]} return y = %y })");
  const Model joined = model.ragged("L");
  ASSERT_EQ(joined.inputs().size(), 2U);
  EXPECT_EQ(joined.inputs()[1].type, "i64[requests]");
  const auto lengths = Array::of<std::int64_t>({2}, {3, 2});
  const auto out = joined.run({{"x", Array::of<float>({5, 1, 1}, {1, 2, 4, 8, 16})}, {"lengths", lengths}});
  EXPECT_THAT(out["y"].values<float>(), ElementsAre(1, 2.5F, 5.25F, 8, 20));
  for (const std::int64_t rows : {4, 6}) {
    const Array x(Dtype::f32, {rows, 1, 1});
    EXPECT_EQ(code_of([&] { joined.run({{"x", x}, {"lengths", lengths}}); }), Code::bad_input) << rows;
  }
}

TEST(Ragged, RefusesWhatMixesRowsAndUnknownExtents) {
  const Model sums = Model::from_text("graph g(%x: f32[L]) { %y = CumSum(%x, i64[] 0) return y = %y }");
  EXPECT_EQ(code_of([&] { (void)sums.ragged("L"); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { (void)sums.ragged("M"); }), Code::bad_input);
}

TEST(Policy, RefusesModelsAndRuns) {
  auto policy = std::make_shared<NoMul>();
  EXPECT_EQ(code_of([&] { Model::from_text(square_model().text(), {}, {.policy = policy}); }), Code::bad_input);
  GraphBuilder graph;
  graph.output("y", graph.op("Neg", {graph.input("x", Dtype::f32, {})}));
  auto session = graph.build({.policy = policy}).open();
  EXPECT_EQ(session.run({{"x", Array::scalar(1.0f)}})["y"].item<float>(), -1);
  policy->run = false;
  EXPECT_EQ(code_of([&] { session.run({{"x", Array::scalar(1.0f)}}); }), Code::bad_input);
}

TEST(Session, LetsGoOfInputsAndResultsAfterARun) {
  for (const char* type : {"f32[N]", "f32[...]"}) {
    const std::string text = std::string("graph g(%x: ") + type + ") { %y = Mul(%x, %x) return y = %y }";
    auto session = Model::from_text(text).open();
    const std::vector<float> memory{1, 2};
    auto keep = std::make_shared<int>();
    const std::weak_ptr<int> kept = keep;
    Array x = Array::borrow(Dtype::f32, {2}, std::as_bytes(std::span(memory)), std::move(keep));
    auto results = session.run({{"x", std::move(x)}});
    EXPECT_TRUE(kept.expired()) << type;
    EXPECT_FALSE(Array(results[0]).layout().exclusive);
    const Array y = results.take(0);
    EXPECT_TRUE(y.layout().exclusive) << type;
    EXPECT_THAT(y.values<float>(), ElementsAre(1, 4));
    EXPECT_THAT(session.run({{"x", Array::of<float>({1}, {3})}})[0].values<float>(), ElementsAre(9));
  }
}

}  // namespace
