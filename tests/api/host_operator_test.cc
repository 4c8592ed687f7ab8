#include <array>
#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/message_of.h"

namespace {

using frazil::Array;
using frazil::Code;
using frazil::Dtype;
using frazil::Error;
using frazil::GraphBuilder;
using frazil::HostOperator;
using frazil::Model;
using frazil::NodeAttributes;
using frazil::TensorType;
using frazil::Term;
using testing::ElementsAre;
using testing::HasSubstr;

using InTypes = std::span<const TensorType>;
using In = std::span<const Array>;

/// X times the attribute `by`.
HostOperator scale(const char* name = "Scale") {
  HostOperator op{.name = name, .domain = "com.acme", .attributes = {{"by", 2.0f}, {"label", "none"}}};
  op.types = [](const NodeAttributes&, InTypes in) { return std::vector{in[0]}; };
  op.run = [](const NodeAttributes& attributes, In in) {
    Array y = in[0];
    for (float& v : y.mutable_values<float>()) v *= attributes.real("by");
    return std::vector{y};
  };
  return op;
}

/// The positive elements of X, as many as there are, and their number.
HostOperator positive() {
  HostOperator op{.name = "Positive", .domain = "com.acme", .outputs = 2};
  op.types = [](const NodeAttributes&, InTypes in) {
    return std::vector<TensorType>{{.dtype = in[0].dtype, .dims = {"?"}}, {.dtype = Dtype::i64, .dims = {}}};
  };
  op.run = [](const NodeAttributes&, In in) {
    std::vector<float> kept;
    for (const float v : in[0].values<float>()) {
      if (v > 0) kept.push_back(v);
    }
    const auto count = static_cast<std::int64_t>(kept.size());
    return std::vector{Array::of<float>({count}, std::span<const float>(kept)), Array::scalar(count)};
  };
  return op;
}

/// [X, X, 0] along the only axis: an extent that is an expression; X may be strings.
HostOperator twofold() {
  HostOperator op{.name = "Twofold", .domain = "com.acme", .optional_inputs = 1, .views = true};
  op.types = [](const NodeAttributes&, InTypes in) {
    return std::vector<TensorType>{{.dtype = in[0].dtype, .dims = {"2*(" + in[0].dims.at(0) + ") + 1"}}};
  };
  op.run = [](const NodeAttributes&, In in) {
    const std::int64_t n = in[0].count();
    Array y(in[0].dtype(), {2 * n + 1});
    const auto copy = [&]<class T>(T) {
      for (std::int64_t i = 0; i < 2 * n; ++i) {
        y.mutable_values<T>()[static_cast<std::size_t>(i)] = in[0].values<T>()[static_cast<std::size_t>(i % n)];
      }
      if (!in[1].empty()) y.mutable_values<T>().back() = in[1].item<T>();
    };
    if (in[0].dtype() == Dtype::string) {
      copy(std::string());
    } else {
      copy(0.0f);
    }
    return std::vector{y};
  };
  return op;
}

std::atomic<int> draws{0};

void register_once() {
  static const bool done = [] {
    register_operator(scale());
    register_operator(positive());
    register_operator(twofold());
    HostOperator counter{.name = "Counter", .domain = "com.acme", .inputs = 0, .pure = false};
    counter.types = [](const NodeAttributes&, InTypes) { return std::vector<TensorType>{{.dtype = Dtype::i64}}; };
    counter.run = [](const NodeAttributes&, In) { return std::vector{Array::scalar<std::int64_t>(++draws)}; };
    register_operator(counter);
    HostOperator faulty{.name = "Faulty", .domain = "com.acme", .attributes = {{"how", ""}}};
    faulty.types = [](const NodeAttributes& attributes, InTypes in) -> std::vector<TensorType> {
      const std::string how = attributes.text("how");
      if (how == "types throw") throw std::invalid_argument("no such type");
      if (how == "no types") return {};
      if (how == "unknown extent") return {{.dims = {"M"}}};
      if (how == "unreadable extent") return {{.dims = {"2*"}}};
      if (how == "no attribute") (void)attributes.integer("where");
      if (how == "wrong kind") (void)attributes.integer("how");
      return {in[0]};
    };
    faulty.run = [](const NodeAttributes& attributes, In in) -> std::vector<Array> {
      const std::string how = attributes.text("how");
      if (how == "run throws") throw std::runtime_error("the disk is full");
      if (how == "run is cancelled") throw Error(Code::cancelled, "enough");
      if (how == "no memory") throw std::bad_alloc();
      if (how == "no results") return {};
      if (how == "wrong dtype") return {Array(Dtype::i64, in[0].sizes())};
      if (how == "wrong extent") return {Array(Dtype::f32, {7})};
      if (how == "wrong rank") return {Array(Dtype::f32, {2, 1})};
      if (how == "no tensor") return {Array()};
      return {in[0]};
    };
    register_operator(faulty);
    return true;
  }();
  (void)done;
}

class HostOperators : public testing::TestWithParam<const char*> {
 protected:
  HostOperators() { register_once(); }
  auto open(const Model& model) const { return model.open({.tier = GetParam()}); }
};
INSTANTIATE_TEST_SUITE_P(Tiers, HostOperators, testing::Values("0", "ref"));

Model scaled_by_operator() {
  GraphBuilder graph("scaled");
  Term x = graph.input("x", Dtype::f32, {"N"});
  Term y = graph.op("com.acme.Scale", {graph.op("Abs", {x})}, {{"by", 3}}, "scale");
  graph.output("y", graph.op("Add", {y, graph.op("com.acme.Scale", {x})}));
  return graph.build();
}

TEST_P(HostOperators, RunInAGraph) {
  auto session = open(scaled_by_operator());
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(session.run({{"x", Array::of<float>({2}, {-1, 2})}})["y"].values<float>(), ElementsAre(1, 10));
    EXPECT_THAT(session.run({{"x", Array::of<float>({1}, {4})}})["y"].values<float>(), ElementsAre(20));
  }
}

TEST_P(HostOperators, AreInFilesAndTexts) {
  const Model model = scaled_by_operator();
  const Model again = Model::from_text(model.text(), model.weights());
  EXPECT_EQ(again.text(), model.text());
  const auto path = std::filesystem::temp_directory_path() / "frazil_host_operator.onnx";
  model.save(path.string());
  const Model loaded = Model::load(path.string());
  std::filesystem::remove(path);
  EXPECT_THAT(loaded.operators(), testing::Contains("com.acme.Scale"));
  for (const Model& m : {again, loaded}) {
    EXPECT_THAT(open(m).run({{"x", Array::of<float>({1}, {-2})}})["y"].values<float>(), ElementsAre(2));
  }
}

TEST_P(HostOperators, ExtentsMayDependOnData) {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {"N"});
  const auto kept = graph.ops("com.acme.Positive", {x}, {}, 2, "positive");
  graph.output("y", graph.op("Neg", {kept[0]}));
  graph.output("n", kept[1]);
  auto session = open(graph.build());
  const auto run = [&](std::initializer_list<float> values) {
    return session.run({{"x", Array::of<float>({static_cast<std::int64_t>(values.size())}, values)}});
  };
  const auto some = run({1, -2, 3});
  EXPECT_THAT(some["y"].values<float>(), ElementsAre(-1, -3));
  EXPECT_EQ(some["n"].item<std::int64_t>(), 2);
  EXPECT_EQ(run({-1})["y"].count(), 0);
  EXPECT_EQ(run({1, 2, 3, 4})["y"].count(), 4);
}

TEST_P(HostOperators, ExtentsMayBeExpressions) {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {"N"});
  Term y = graph.op("com.acme.Twofold", {x, graph.scalar(9.0f)});
  EXPECT_EQ(graph.type(y), "f32[2*N + 1]");
  graph.output("y", graph.op("com.acme.Twofold", {y}));
  EXPECT_EQ(graph.build().outputs()[0].dims[0], "4*N + 3");
  auto session = open(graph.build());
  EXPECT_THAT(session.run({{"x", Array::of<float>({1}, {1})}})["y"].values<float>(), ElementsAre(1, 1, 9, 1, 1, 9, 0));
}

TEST_P(HostOperators, TakeStrings) {
  GraphBuilder graph;
  graph.output("y", graph.op("com.acme.Twofold", {graph.input("x", Dtype::string, {"N"})}));
  const auto out = open(graph.build()).run({{"x", Array::of<std::string>({1}, {"a text too long to be inside"})}});
  EXPECT_EQ(out["y"].values<std::string>()[1], "a text too long to be inside");
}

TEST_P(HostOperators, RunInLoopsAndBehindConstants) {
  GraphBuilder graph;
  Term n = graph.input("n", Dtype::i64, {});
  Term one = graph.op("com.acme.Scale", {graph.constant(Array::of<float>({1}, {0.5f}))});
  const auto y = graph.loop(n, {}, {one}, [&](frazil::Body& body, std::span<const Term> p) {
    return std::vector{body.op("Identity", {p[1]}), body.op("com.acme.Scale", {p[2]}, {{"by", 10}})};
  });
  graph.output("y", y[0]);
  const auto out = open(graph.build()).run({{"n", Array::scalar<std::int64_t>(3)}});
  EXPECT_THAT(out["y"].values<float>(), ElementsAre(1000));
}

TEST_P(HostOperators, ThatAreNotPureRunEachTime) {
  GraphBuilder graph;
  graph.output("a", graph.op("com.acme.Counter", {}));
  graph.output("b", graph.op("com.acme.Counter", {}));
  auto session = open(graph.build());
  const auto first = session.run({}), second = session.run({});
  EXPECT_NE(first["a"].item<std::int64_t>(), first["b"].item<std::int64_t>());
  EXPECT_NE(first["a"].item<std::int64_t>(), second["a"].item<std::int64_t>());
}

struct Fault {
  const char* how;
  Code code;
  const char* message;
};

Model faulty(const std::string& how) {
  GraphBuilder graph;
  graph.output("y", graph.op("com.acme.Faulty", {graph.input("x", Dtype::f32, {"N"})}, {{"how", how}}, "culprit"));
  return graph.build();
}

TEST_P(HostOperators, FaultsOfRunsNameTheNode) {
  const Fault faults[] = {
      {"run throws", Code::bad_input, "the disk is full"}, {"run is cancelled", Code::cancelled, "enough"},
      {"no memory", Code::out_of_memory, "memory"},        {"no results", Code::bad_input, "0 results for 1"},
      {"wrong dtype", Code::bad_input, "i64[2]"},          {"wrong extent", Code::bad_input, "output 0"},
      {"wrong rank", Code::bad_input, "output 0"},         {"no tensor", Code::bad_input, "no tensor"},
  };
  for (const auto& [how, code, message] : faults) {
    auto session = open(faulty(how));
    const auto text = message_of([&] { session.run({{"x", Array::of<float>({2}, {1, 2})}}); }, code);
    EXPECT_THAT(text, HasSubstr("'culprit' (Faulty)")) << how;
    EXPECT_THAT(text, HasSubstr(message)) << how;
  }
}

TEST(HostOperator, FaultsOfTypesNameTheNode) {
  register_once();
  const Fault faults[] = {
      {"types throw", Code::bad_input, "no such type"}, {"no types", Code::bad_model, "0 types for 1"},
      {"unknown extent", Code::bad_model, "'M'"},       {"unreadable extent", Code::bad_model, "'2*'"},
      {"no attribute", Code::bad_input, "'where'"},     {"wrong kind", Code::bad_input, "string"},
  };
  for (const auto& [how, code, message] : faults) {
    const auto text = message_of([&] { faulty(how); }, code);
    EXPECT_THAT(text, HasSubstr("'culprit' (Faulty)")) << how;
    EXPECT_THAT(text, HasSubstr(message)) << how;
  }
}

TEST(HostOperator, NodesAreChecked) {
  register_once();
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {"N"});
  EXPECT_THAT(message_of([&] { graph.op("com.acme.Scale", {}); }, Code::bad_model), HasSubstr("missing"));
  EXPECT_THAT(message_of([&] { graph.op("com.acme.Scale", {x, x}); }, Code::bad_model), HasSubstr("at most 1"));
  EXPECT_THAT(message_of([&] { graph.op("com.acme.Scale", {x}, {{"to", 1}}); }, Code::bad_model), HasSubstr("'by'"));
  EXPECT_THAT(message_of([&] { graph.op("com.acme.Scale", {x}, {{"by", "x"}}); }, Code::bad_model), HasSubstr("float"));
  EXPECT_THAT(message_of([&] { graph.ops("com.acme.Scale", {x}, {}, 2); }, Code::bad_model), HasSubstr("at most 1"));
  Term sequence = graph.op("SequenceConstruct", {x});
  EXPECT_THAT(message_of([&] { graph.op("com.acme.Scale", {sequence}); }, Code::bad_model), HasSubstr("a tensor"));
}

TEST(HostOperator, RegistrationIsChecked) {
  register_once();
  EXPECT_THAT(message_of([] { register_operator(scale()); }, Code::bad_input), HasSubstr("'Scale' already"));
  const auto refused = [](auto change) {
    HostOperator op = scale("Other");
    change(op);
    return message_of([&] { register_operator(op); }, Code::bad_input);
  };
  EXPECT_THAT(refused([](HostOperator& op) { op.name = "a b"; }), HasSubstr("name"));
  EXPECT_THAT(refused([](HostOperator& op) { op.domain = ""; }), HasSubstr("domain"));
  EXPECT_THAT(refused([](HostOperator& op) { op.run = nullptr; }), HasSubstr("functions"));
  EXPECT_THAT(refused([](HostOperator& op) { op.outputs = 0; }), HasSubstr("output"));
  EXPECT_THAT(refused([](HostOperator& op) { op.variadic = true, op.optional_inputs = 1; }), HasSubstr("variadic"));
  EXPECT_THAT(refused([](HostOperator& op) { op.attributes.emplace_back("by", 1); }), HasSubstr("'by'"));
  EXPECT_THAT(refused([](HostOperator& op) {
                for (int i = 0; i < 17; ++i) op.attributes.emplace_back("a" + std::to_string(i), i);
              }),
              HasSubstr("16"));
}

/// Each number times `by` of one of the operators, as a model that is loaded from bytes or built computes it.
float times(const std::string& op, float by) {
  GraphBuilder graph("times");
  const Term x = graph.input("x", Dtype::f32, {"N"});
  graph.output("y", graph.op("com.acme." + op, {x}, {{"by", by}}));
  return graph.build().open({.tier = "0"}).run({{"x", Array::of<float>({1}, {3})}})["y"].values<float>()[0];
}

/// Each thread uses what is there already, and what has just been added, while others add more.
TEST(HostOperator, MayBeRegisteredWhileModelsLoad) {
  constexpr int kThreads = 3, kEach = 40;
  register_once();
  std::vector<std::thread> threads;
  std::array<int, kThreads> right{};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, &right] {
      for (int i = 0; i < kEach; ++i) {
        const std::string name = "Scale" + std::to_string(t) + "_" + std::to_string(i);
        const float by = static_cast<float>(100 * t + i + 2);
        HostOperator op = scale(name.c_str());
        register_operator(op);
        right[static_cast<std::size_t>(t)] += times(name, by) == 3 * by && times("Scale", by) == 3 * by;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, testing::Each(kEach));
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(times("Scale" + std::to_string(t) + "_0", 5), 15) << "the first one is not lost";
  }
}

}  // namespace
