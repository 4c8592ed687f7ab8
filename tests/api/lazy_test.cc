#include <cmath>
#include <numeric>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/message_of.h"

namespace frazil {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> floats(const LazyArray& array) {
  const Array value = array.value();
  const auto values = value.values<float>();
  return {values.begin(), values.end()};
}

LazyArray vector_of(std::initializer_list<float> values) {
  return Array::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

TEST(LazyArrays, RunWhenTheyAreRead) {
  const LazyArray x = vector_of({1, -2, 3});
  const LazyArray y = relu(x * 2 + 1);
  EXPECT_THAT(floats(y), ElementsAre(3, 0, 7));
  EXPECT_THAT(floats(y - x), ElementsAre(2, 2, 4));
}

TEST(LazyArrays, KnowTheirTypesBeforeTheyRun) {
  const LazyArray x = Array(Dtype::f32, {3, 4}), w = Array(Dtype::f32, {4, 5});
  const LazyArray y = matmul(x, w);
  EXPECT_EQ(y.shape(), (Sizes{3, 5}));
  EXPECT_EQ((y < 0).dtype(), Dtype::boolean);
  EXPECT_EQ(reshape(y, {5, -1}).shape(), (Sizes{5, 3}));
}

TEST(LazyArrays, RunTogether) {
  const LazyArray x = vector_of({1, -2, 3}), common = exp(x) * 3;
  const std::vector<LazyArray> arrays{common + 1, common - 1, x, parameter(x.value())};
  const ProgramCounts before = program_counts();
  evaluate(arrays);
  const ProgramCounts after = program_counts();
  EXPECT_EQ(after.without, before.without + 1) << "one structure for both";
  EXPECT_FLOAT_EQ(floats(arrays[0])[1], 3 * std::exp(-2.F) + 1);
  EXPECT_FLOAT_EQ(floats(arrays[1])[2], 3 * std::exp(3.F) - 1);
  const ProgramCounts read = program_counts();
  EXPECT_EQ(read.made + read.found, after.made + after.found) << "reading runs nothing";
  evaluate({});
  const std::vector<LazyArray> omitted(1);
  EXPECT_THAT(message_of([&] { evaluate(omitted); }, Code::bad_input), HasSubstr("omitted"));
}

TEST(LazyArrays, HandOverWhatNothingElseHolds) {
  const LazyArray x = vector_of({1, -2, 3});
  Array last = (x * 2).value();
  EXPECT_TRUE(last.layout().exclusive);
  last.mutable_values<float>()[0] = 9;
  EXPECT_THAT(floats(x * 2), ElementsAre(2, -4, 6));
  LazyArray y = x + 1;
  const LazyArray held = y;
  EXPECT_FALSE(std::move(y).value().layout().exclusive);
  EXPECT_THAT(floats(held), ElementsAre(2, -1, 4));
}

TEST(LazyArrays, HaveRows) {
  const LazyArray x = Array::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(floats(x[1] * 2), ElementsAre(6, 8));
  EXPECT_THAT(floats(parameter(x.value())[-1]), ElementsAre(5, 6));
}

TEST(LazyArrays, NameTheLineOfWhatDoesNotFit) {
  const LazyArray x = vector_of({1, 2, 3}), y = vector_of({1, 2});
  const int line = __LINE__ + 1;
  const std::string message = message_of([&] { x + y; }, Code::bad_model);
  EXPECT_THAT(message, AllOf(HasSubstr("lazy_test.cc:" + std::to_string(line)), HasSubstr("Add")));
}

TEST(LazyArrays, UseOrdinaryControlFlow) {
  const auto collatz = [](LazyArray x) {
    int steps = 0;
    while (x.item<float>() != 1) {
      x = std::fmod(x.item<float>(), 2.F) == 0 ? x / 2 : x * 3 + 1;
      ++steps;
    }
    return steps;
  };
  EXPECT_EQ(collatz(vector_of({6})), 8);
  EXPECT_EQ(collatz(vector_of({27})), 111);
}

TEST(LazyArrays, KeepWholeNumbers) {
  const LazyArray x = Array::of<std::int64_t>({1}, {1});
  EXPECT_EQ((x + ((std::int64_t{1} << 60) + 1)).item<std::int64_t>(), (std::int64_t{1} << 60) + 2);
}

TEST(LazyArrays, RunLongProgramsInParts) {
  LazyArray x = vector_of({0, 1});
  for (int i = 0; i < 5000; ++i) x = x + 1;
  EXPECT_THAT(floats(x), ElementsAre(5000, 5001));
}

TEST(LazyArrays, ShareOneProgramAmongExtents) {
  const LazyArray w = parameter(Array::of<float>({2, 2}, {1, 2, 3, 4}));
  const ProgramCounts before = program_counts();
  const auto run = [&](std::int64_t n) {
    const LazyArray x = Array(Dtype::f32, {n, 2});
    EXPECT_EQ(tanh(matmul(x, w)).value().sizes(), (Sizes{n, 2}));
  };
  for (std::int64_t n = 3; n < 1000; ++n) run(n);
  EXPECT_EQ(program_counts().made - before.made, 3U);  // of each operator, and of both
  const ProgramCounts made = program_counts();
  EXPECT_GT(made.without, before.without);
  for (std::int64_t n = 3; n < 40; ++n) run(n);
  EXPECT_EQ(program_counts().found - made.found, 37U);
  EXPECT_EQ(program_counts().without, made.without);
}

/// A structure that no other number gives: its bits are operators of a chain.
LazyArray chain(LazyArray x, unsigned number) {
  for (unsigned bit = 0; bit < 12; ++bit) x = (number >> bit & 1U) == 1 ? tanh(x) : x + x;
  return x;
}

TEST(LazyArrays, RunStructuresThatAreAlwaysNewWithoutPrograms) {
  const LazyArray x = vector_of({0.25F, -0.5F, 0.75F});
  const ProgramCounts before = program_counts();
  for (unsigned number = 0; number < 4096; ++number) {
    const std::vector<float> got = floats(chain(x, number));
    float wanted = 0.25F;
    for (unsigned bit = 0; bit < 12; ++bit) wanted = (number >> bit & 1U) == 1 ? std::tanh(wanted) : wanted + wanted;
    ASSERT_NEAR(got[0], wanted, std::abs(wanted) * 1e-5) << number;
  }
  const ProgramCounts after = program_counts();
  EXPECT_LE(after.made - before.made, 2U);
  EXPECT_EQ(after.without - before.without, 4096U);
}

TEST(LazyArrays, KeepProgramsWithinTheirBytes) {
  const LazyArray x = vector_of({0.25F, -0.5F, 0.75F});
  for (unsigned number = 0; number < 3000; ++number) static_cast<void>(chain(x, number).explain());  // makes it
  const ProgramCounts counts = program_counts();
  EXPECT_GT(counts.kept_bytes, 32U << 20U);
  EXPECT_LE(counts.kept_bytes, 66U << 20U);
  EXPECT_THAT(floats(chain(x, 0)), ElementsAre(1024, -2048, 3072));
}

TEST(LazyArrays, RunManyIndependentOperatorsTogether) {
  std::vector<LazyArray> rows;
  for (int i = 0; i < 400; ++i) rows.push_back(tanh(vector_of({0.001F * static_cast<float>(i), 0.5F}) * 2));
  std::vector<LazyArray> sums;
  for (int i = 0; i + 1 < 400; i += 2) sums.push_back(rows[i] + rows[i + 1]);
  while (sums.size() > 1) {
    std::vector<LazyArray> next;
    for (std::size_t i = 0; i + 1 < sums.size(); i += 2) next.push_back(sums[i] + sums[i + 1]);
    if (sums.size() % 2 == 1) next.push_back(sums.back());
    sums = std::move(next);
  }
  double wanted = 0;
  for (int i = 0; i < 400; ++i) wanted += std::tanh(0.002 * i);
  EXPECT_NEAR(floats(sums[0])[0], wanted, 1e-3);
  EXPECT_NEAR(floats(sums[0])[1], 400 * std::tanh(1.0), 1e-3);
}

TEST(LazyArrays, KeepWhatTheProgramHolds) {
  const LazyArray x = vector_of({1, 2});
  const LazyArray twice = x + x, four = twice + twice;
  EXPECT_THAT(floats(four), ElementsAre(4, 8));
  EXPECT_THAT(floats(twice), ElementsAre(2, 4));
}

TEST(LazyArrays, HaveOneGroupForAChainOfTenPointwiseOperators) {
  const LazyArray x = Array(Dtype::f32, {8, 16});
  const LazyArray y = tanh(sigmoid(relu(exp(x * 2 + 1) - 3) / 4) * x) + abs(x);
  EXPECT_THAT(y.explain(), HasSubstr("nodes in 1 step"));
}

TEST(Functions, RecordOneNode) {
  int traced = 0;
  const LazyArray w = parameter(Array::of<float>({2, 2}, {1, 0, 0, 1}));
  const auto cell = function("cell", [&](LazyArray h, LazyArray x) {
    ++traced;
    return tanh(matmul(h, w) + x);
  });
  LazyArray h = Array(Dtype::f32, {1, 2});
  for (int t = 0; t < 3; ++t) h = cell(h, vector_of({0.5, -0.5}));
  const float third = std::tanh(std::tanh(std::tanh(0.5F) + 0.5F) + 0.5F);
  EXPECT_NEAR(floats(h)[0], third, 1e-6);
  EXPECT_EQ(traced, 1);
}

TEST(Functions, BecomeModels) {
  const auto swish = function("swish", [](LazyArray x) { return x * sigmoid(x); });
  const Model model = swish.model(LazyArray(Array(Dtype::f32, {4, 3})));
  EXPECT_THAT(model.text(), AllOf(HasSubstr("Sigmoid"), HasSubstr("x0: f32[n0,n1]")));
}

TEST(Functions, NameWhatModelsTakeAndGive) {
  const Function both("both", [](std::span<const LazyArray> x) { return Arrays{x[0] + x[1], x[0] - x[1]}; });
  const LazyArray x = vector_of({1, 2});
  const Arrays arguments{x, x};
  const Model model = both.model(
      arguments, [](std::size_t i) { return i == 0 ? "a" : "b"; },
      [](std::size_t k) { return k == 0 ? "sum" : "rest"; });
  EXPECT_THAT(model.text(), AllOf(HasSubstr("%a: f32[n0], %b: f32[n0]"), HasSubstr("sum = "), HasSubstr("rest = ")));
}

TEST(Functions, KeepControlFlowInTheGraph) {
  const auto halve = function("halve", [](LazyArray x) {
    const auto sides = cond(sum(x) > 10, [&] { return Arrays{x / 2}; }, [&] { return Arrays{x * 1}; });
    return loop([](const Arrays& a) { return max(a[0]) > 1; }, [](const Arrays& a) { return Arrays{a[0] / 2}; },
                sides)[0];
  });
  EXPECT_THAT(floats(halve(vector_of({8, 4}))), ElementsAre(1, 0.5));
  EXPECT_THAT(floats(halve(vector_of({1, 2}))), ElementsAre(0.5, 1));
  const std::string text = halve.model(vector_of({1, 2})).text();
  EXPECT_THAT(text, AllOf(HasSubstr("If"), HasSubstr("Loop")));
}

TEST(Functions, TakeArraysAndNumbers) {
  const auto scaled = function("scaled", [](LazyArray x, LazyArray factor) { return x * factor; });
  EXPECT_THAT(floats(scaled(Array::of<float>({2}, {1, 2}), 3.F)), ElementsAre(3, 6));
}

TEST(Functions, RefuseToReadValues) {
  const auto bad = function("bad", [](LazyArray x) { return x.item<float>() > 0 ? x : x * 2; });
  EXPECT_THAT(message_of([&] { bad(vector_of({1})); }, Code::bad_input), HasSubstr("frazil::cond()"));
}

TEST(Functions, KeepTheirArraysToThemselves) {
  LazyArray leaked;
  function("first", [&](LazyArray x) { return leaked = x * 2; })(vector_of({1, 2}));
  EXPECT_THAT(message_of([&] { leaked.value(); }, Code::bad_input), HasSubstr("function"));
  EXPECT_THAT(message_of([&] { leaked.shape(); }, Code::bad_input), HasSubstr("function"));
  EXPECT_THAT(message_of([&] { tanh(leaked); }, Code::bad_input), HasSubstr("function"));
  const auto second = function("second", [&](LazyArray x) { return x + leaked; });
  EXPECT_THAT(message_of([&] { second(vector_of({1, 2})); }, Code::bad_input), HasSubstr("'second'"));
}

TEST(Functions, KeepSidesToThemselves) {
  LazyArray leaked;
  const auto outside = function("outside", [&](LazyArray x) {
    cond(sum(x) > 0, [&] { return Arrays{leaked = x + 1}; }, [&] { return Arrays{x}; });
    return leaked;
  });
  EXPECT_THAT(message_of([&] { outside(vector_of({1, 2})); }, Code::bad_input), HasSubstr("outside of it"));
  const auto caught = function("caught", [&](LazyArray x) {
    try {
      cond(sum(x) > 0, []() -> Arrays { throw std::runtime_error("no"); }, [&] { return Arrays{x}; });
    } catch (const std::runtime_error&) {
    }
    return x + 1;
  });
  EXPECT_THAT(message_of([&] { caught(vector_of({1, 2})); }, Code::bad_input), HasSubstr("exception"));
}

// ---- batches ----

TEST(Batches, RunEqualWorkTogether) {
  std::vector<float> starts(64);
  std::iota(starts.begin(), starts.end(), 1.F);
  BatchReport report;
  const auto results = batch(
      starts,
      [](float start) {
        LazyArray x = vector_of({start, start});
        while (x.value().number(0) < 100) x = x * 2;
        return x;
      },
      {}, &report);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    float expected = starts[i];
    while (expected < 100) expected *= 2;
    EXPECT_THAT(floats(results[i]), ElementsAre(expected, expected)) << i;
  }
  EXPECT_EQ(report.instances, 64U);
  EXPECT_LE(report.runs, 8U);  // the longest instance doubles seven times
}

/// What was recorded before is the work of all instances.
TEST(Batches, ComputeWhatInstancesHaveInCommonOnce) {
  for (const int length : {2, 100}) {  // in pieces, and node by node
    LazyArray common = vector_of({1, 2});
    for (int i = 0; i < length; ++i) common = tanh(common + 1);
    const float expected = std::tanh(1 + floats(common)[0]);
    LazyArray again = vector_of({1, 2});
    for (int i = 0; i < length; ++i) again = tanh(again + 1);
    const std::vector<int> numbers{0, 1, 2, 3, 4, 5};
    const auto results = batch(numbers, [&](int number) { return tanh(again + 1) + number; });
    for (const int i : numbers) {
      EXPECT_NEAR(floats(results[static_cast<std::size_t>(i)])[0], expected + static_cast<float>(i), 1e-6) << length;
    }
  }
}

/// A graph that is recorded in one instance is not continued by others.
TEST(Batches, RecordFunctionsOfWhatIsNotThereYet) {
  const std::vector<int> numbers{1, 2, 3};
  const auto results = batch(numbers, [&](int number) {
    const LazyArray pending = vector_of({1, 2}) * number;
    const auto add = function("add", [&](LazyArray x) { return x + pending; });
    return add(vector_of({1, 1}));
  });
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<float>(numbers[i]);
    EXPECT_THAT(floats(results[i]), ElementsAre(number + 1, 2 * number + 1));
  }
}

struct Tree {
  int word = 0;
  std::vector<Tree> children;
};

Tree tree_of(int leaves, int seed) {
  if (leaves == 1) return {seed % 7, {}};
  const int left = 1 + seed % (leaves - 1);
  return {0, {tree_of(left, seed * 5 + 1), tree_of(leaves - left, seed * 3 + 2)}};
}

TEST(Batches, RunCellsOfTreesTogether) {
  std::vector<float> table(7 * 3), weights(6 * 3);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::cos(static_cast<float>(i)) / 3;
  const LazyArray words = parameter(Array::of<float>({7, 3}, std::span<const float>(table)));
  const LazyArray w = parameter(Array::of<float>({6, 3}, std::span<const float>(weights)));
  const auto leaf = function("leaf", [&](LazyArray word) { return tanh(word); });
  const auto join =
      function("join", [&](LazyArray left, LazyArray right) { return tanh(matmul(concatenate({left, right}), w)); });
  const std::function<LazyArray(const Tree&)> value = [&](const Tree& tree) {
    if (tree.children.empty()) return leaf(words[tree.word]);
    return join(value(tree.children[0]), value(tree.children[1]));
  };
  std::vector<Tree> trees;
  for (int i = 0; i < 40; ++i) trees.push_back(tree_of(2 + i % 9, i));
  BatchReport report;
  const auto together = batch(trees, value, {}, &report);
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const auto alone = floats(value(trees[i])), here = floats(together[i]);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(here[k], alone[k], 1e-5) << i;
  }
  EXPECT_LT(report.runs, report.nodes / 5);
}

TEST(Batches, LetOthersEndWhereOneThrows) {
  std::vector<int> numbers{1, 2, 3, 4};
  int ended = 0;
  const auto run = [&] {
    batch(numbers, [&](int n) {
      LazyArray x = vector_of({static_cast<float>(n)});
      if ((x * 2).item<float>() == 6) throw Error(Code::bad_input, "three");
      (x + 1).value();
      ++ended;
      return x;
    });
  };
  EXPECT_EQ(message_of(run, Code::bad_input), "three");
  EXPECT_EQ(ended, 3);
}

TEST(Batches, LetInstancesJoinAsOthersEnd) {
  std::vector<int> lengths(100);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<int>(i % 10);
  BatchReport report;
  const auto results = batch(
      lengths,
      [](int length) {
        LazyArray x = vector_of({0});
        for (int t = 0; t < length; ++t) {
          x = x + 1;
          x.value();
        }
        return x;
      },
      {.at_once = 8}, &report);
  for (std::size_t i = 0; i < lengths.size(); ++i) EXPECT_EQ(results[i].item<float>(), static_cast<float>(lengths[i]));
  EXPECT_LT(report.rounds, 80U);  // 450 steps, 8 at a time
}

TEST(Batches, FailOnlyWhereTheyMust) {
  std::vector<std::int64_t> rows{0, 1, 9, 2};
  const LazyArray table = Array::of<float>({3, 1}, {10, 11, 12});
  std::vector<std::string> outcome(rows.size());
  std::vector<std::size_t> numbers{0, 1, 2, 3};
  batch(numbers, [&](std::size_t i) {
    try {
      const LazyArray index = Array::of<std::int32_t>({1}, {static_cast<std::int32_t>(rows[i])});
      outcome[i] = std::to_string(static_cast<int>(take(table, index).item<float>()));
    } catch (const Error& error) {
      outcome[i] = "error";
    }
    return LazyArray();
  });
  EXPECT_THAT(outcome, ElementsAre("10", "11", "error", "12"));
}

// ---- models ----

TEST(BatchedModels, ShareWhatRequestsHaveInCommon) {
  GraphBuilder graph("halving");
  const Term x = graph.input("x", Dtype::f32, {"N"}), flip = graph.input("flip", Dtype::boolean, {});
  const auto above_one = [](Body& body, Term v) {
    return body.op("Greater", {body.op("ReduceMax", {v}, {{"keepdims", 0}}), body.scalar(1.F)});
  };
  const Term halved = graph.loop({}, above_one(graph, x), {x}, [&](Body& body, std::span<const Term> params) {
    const Term half = body.op("Div", {params[2], body.scalar(2.F)});
    return std::vector{above_one(body, half), half};
  })[0];
  graph.output("z", graph.if_else(
                        flip, [&](Body& body) { return std::vector{body.op("Neg", {halved})}; },
                        [&](Body& body) { return std::vector{body.op("Abs", {halved})}; })[0]);
  const Model model = graph.build();
  std::vector<std::vector<Array>> requests;
  for (int i = 0; i < 40; ++i) {
    const auto top = static_cast<float>(1 << (i % 10));
    requests.push_back({Array::of<float>({2}, {top, top / 4}), Array::scalar(i % 3 == 0)});
  }
  BatchReport report;
  const auto results = BatchedModel(model).run(requests, {.always = true}, &report);
  Session session = model.open();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Results alone = session.run(requests[i]);
    EXPECT_THAT(results[i][0].values<float>(), testing::ElementsAreArray(alone[0].values<float>())) << i;
  }
  EXPECT_LT(report.runs, 40U);
}

/// A product with a square weight, in one of two branches.
Model routed(std::int64_t width) {
  GraphBuilder graph("routed");
  const Term x = graph.input("x", Dtype::f32, {1, width}), left = graph.input("left", Dtype::boolean, {});
  std::vector<float> values(static_cast<std::size_t>(width * width));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3;
  const Term w = graph.constant(Array::of<float>({width, width}, std::span<const float>(values)));
  graph.output("y", graph.if_else(
                        left, [&](Body& body) { return std::vector{body.op("MatMul", {x, w})}; },
                        [&](Body& body) { return std::vector{body.op("Neg", {x})}; })[0]);
  return graph.build();
}

TEST(BatchedModels, RunTogetherWhereThatPays) {
  for (const std::int64_t width : {16, 1024}) {
    const Model model = routed(width);
    const BatchedModel batched(model);
    EXPECT_EQ(batched.pays(), width == 1024);
    std::vector<std::vector<Array>> requests;
    for (int i = 0; i < 12; ++i) {
      std::vector<float> row(static_cast<std::size_t>(width), static_cast<float>(i + 1));
      requests.push_back({Array::of<float>({1, width}, std::span<const float>(row)), Array::scalar(i % 3 != 0)});
    }
    BatchReport report;
    const auto results = batched.run(requests, {}, &report);
    EXPECT_EQ(report.instances, 12U);
    EXPECT_EQ(report.runs < 12, width == 1024);
    Session session = model.open();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Results alone = session.run(requests[i]);
      EXPECT_THAT(results[i][0].values<float>(), testing::ElementsAreArray(alone[0].values<float>())) << i;
    }
  }
}

TEST(BatchedModels, OfWhichOneFailsAloneHaveTheOtherResults) {
  std::vector<std::vector<Array>> requests(3, {Array(Dtype::f32, {1, 16}), Array::scalar(true)});
  requests[1][0] = Array(Dtype::f32, {1, 17});
  const auto outcomes = BatchedModel(routed(16)).outcomes(requests);
  ASSERT_EQ(outcomes[0].error, nullptr);
  EXPECT_NE(outcomes[1].error, nullptr);
  EXPECT_EQ(outcomes[2].results[0].count(), 16);
}

TEST(BatchedModels, RefuseInputsThatDoNotFit) {
  GraphBuilder graph("twice");
  const Term x = graph.input("x", Dtype::f32, {"N", 3});
  graph.output("y", graph.op("Add", {x, x}));
  const BatchedModel model(graph.build());
  const std::vector<std::vector<Array>> requests{{Array(Dtype::f32, {2, 4})}};
  EXPECT_EQ(message_of([&] { model.run(requests); }, Code::bad_input), "input 'x': expected f32[N,3], got f32[2,4]");
}

}  // namespace
}  // namespace frazil
