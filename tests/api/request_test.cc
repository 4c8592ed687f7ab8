#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/endless.h"
#include "api/message_of.h"

namespace {

using frazil::Array;
using frazil::Body;
using frazil::Code;
using frazil::Dtype;
using frazil::GraphBuilder;
using frazil::Model;
using frazil::Results;
using frazil::Session;
using frazil::Term;
using testing::ElementsAre;
using testing::HasSubstr;

/// y = relu(x * x - 3), z = x, c = {1, 2}, s: a string
Model several() {
  GraphBuilder graph("several");
  Term x = graph.input("x", Dtype::f32, {"N"});
  Term product = graph.op("Mul", {x, x}, {}, "product");
  Term less = graph.op("Sub", {product, graph.scalar(3.0f)}, {}, "less");
  graph.output("y", graph.op("Relu", {less}));
  graph.output("z", graph.op("Identity", {x}));
  graph.output("c", graph.constant(Array::of<float>({2}, {1, 2})));
  graph.output("s", graph.constant(Array::of<std::string>({}, {"text"})));
  return graph.build();
}

Array numbers(std::initializer_list<float> values) {
  return Array::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

// ---- bound outputs ----

class BoundOutputs : public testing::TestWithParam<const char*> {
 protected:
  Session open(const Model& model) const { return model.open({.tier = GetParam()}); }
};
INSTANTIATE_TEST_SUITE_P(Tiers, BoundOutputs, testing::Values("0", "ref"));

TEST_P(BoundOutputs, AreWrittenToTheCallersMemory) {
  auto session = open(several());
  std::vector<float> y(6, -1), z(6, -1), c(2, -1);
  session.bind_output("y", std::span(y).first(4));
  session.bind_output("z", std::span(z));
  session.bind_output("c", std::span(c));
  const Results out = session.run({{"x", numbers({1, 2, 3})}});
  EXPECT_THAT(y, ElementsAre(0, 1, 6, -1, -1, -1));
  EXPECT_THAT(z, ElementsAre(1, 2, 3, -1, -1, -1));
  EXPECT_THAT(c, ElementsAre(1, 2));
  EXPECT_EQ(out["y"].data(), y.data());
  EXPECT_THAT(out["y"].values<float>(), ElementsAre(0, 1, 6));
  EXPECT_EQ(out["s"].item<std::string>(), "text");
  Array copy = out["y"];
  copy.mutable_values<float>()[0] = 9;
  EXPECT_EQ(y[0], 0) << "an Array is written to in memory of its own";
}

TEST_P(BoundOutputs, MayChangeTheirExtents) {
  auto session = open(several());
  std::vector<float> y(4, -1);
  session.bind_output("y", std::span(y));
  Results out;
  for (const std::size_t n : {1u, 4u, 2u, 0u, 3u}) {
    std::ranges::fill(y, -1.0f);
    Array x(Dtype::f32, {static_cast<std::int64_t>(n)});
    std::ranges::fill(x.mutable_values<float>(), 3.0f);
    session.run(std::vector{x}, out);
    EXPECT_EQ(std::ranges::count(y, 6.0f), static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(out["y"].count(), static_cast<std::int64_t>(n));
  }
  const auto text = message_of([&] { session.run({{"x", numbers({1, 2, 3, 4, 5})}}); }, Code::bad_input);
  EXPECT_EQ(text, "output 'y': f32[5] takes 20 bytes, its memory has 16");
  session.unbind_output("y");
  EXPECT_THAT(session.run({{"x", numbers({1, 2, 3, 4, 5})}})["y"].values<float>(), ElementsAre(0, 1, 6, 13, 22));
}

TEST_P(BoundOutputs, MayLieAnywhere) {
  auto session = open(several());
  std::vector<std::byte> memory(64, std::byte{7});
  session.bind_output("y", Dtype::f32, std::span(memory).subspan(1, 12));
  const Array y = session.run({{"x", numbers({1, 2, 3})}})["y"];
  EXPECT_THAT(y.values<float>(), ElementsAre(0, 1, 6));
  EXPECT_EQ(memory[0], std::byte{7});
  EXPECT_EQ(memory[13], std::byte{7});
}

TEST_P(BoundOutputs, MayBeAnInputsMemory) {
  auto session = open(several());
  std::vector<float> memory{1, 2, 3};
  const Array x = Array::borrow(Dtype::f32, {3}, std::as_bytes(std::span(memory)));
  session.bind_output("y", std::span(memory));
  session.run({{"x", x}});
  EXPECT_THAT(memory, ElementsAre(0, 1, 6));
}

TEST_P(BoundOutputs, OfCarriedValues) {
  GraphBuilder graph("cache");
  const Term past = graph.input("past", Dtype::f32, {2, "T"}), item = graph.input("new", Dtype::f32, {2, 1});
  graph.output("present", graph.op("Concat", {past, item}, {{"axis", 1}}));
  auto session = open(graph.build());
  std::vector<float> memory(40);
  Array state = Array::of<float>({2, 1}, {1, 2});
  const Array next = Array::of<float>({2, 1}, {3, 4});
  for (int i = 0; i < 3; ++i) state = session.run(std::vector{state, next})["present"];
  session.bind_output("present", std::span(memory));
  state = session.run(std::vector{state, next})["present"];
  EXPECT_THAT(std::span(memory).first(10), ElementsAre(1, 3, 3, 3, 3, 2, 4, 4, 4, 4));
  state = session.run(std::vector{state, next})["present"];
  EXPECT_THAT(state.values<float>(), ElementsAre(1, 3, 3, 3, 3, 3, 2, 4, 4, 4, 4, 4));
}

TEST(BoundOutput, IsComputedInPlace) {
  GraphBuilder graph("wide");
  Term x = graph.input("x", Dtype::f32, {"N", 64});
  graph.output("y", graph.op("MatMul", {x, graph.op("Transpose", {x}, {{"perm", {1, 0}}})}));
  const Model model = graph.build();
  Array in(Dtype::f32, {33, 64});
  const auto elements = in.mutable_values<float>();
  std::iota(elements.begin(), elements.end(), 0.0f);
  const Array expected = model.open().run(std::vector{in})[0];
  for (const std::size_t offset : {0u, 1u, 5u}) {
    std::vector<float> memory(33 * 33 + 2 * offset, -7);
    auto session = model.open();
    session.bind_output("y", std::span(memory).subspan(offset, 33 * 33));
    session.run(std::vector{in});
    EXPECT_TRUE(std::ranges::equal(std::span(memory).subspan(offset, 33 * 33), expected.values<float>()));
    for (std::size_t i = 0; i < offset; ++i) EXPECT_EQ(memory[i] + memory[memory.size() - 1 - i], -14);
  }
}

TEST(BoundOutput, IsChecked) {
  auto session = several().open();
  std::vector<float> memory(4);
  std::vector<double> doubles(4);
  std::vector<std::byte> bytes(64);
  EXPECT_EQ(message_of([&] { session.bind_output("y", std::span(doubles)); }, Code::bad_input),
            "output 'y' is f32[N], its memory holds f64");
  EXPECT_THAT(message_of([&] { session.bind_output("w", std::span(memory)); }, Code::bad_input), HasSubstr("'w'"));
  EXPECT_THAT(message_of([&] { session.bind_output("s", Dtype::string, bytes); }, Code::bad_input),
              HasSubstr("strings"));
  session.bind_output("y", std::span(memory));
  EXPECT_THAT(message_of([&] { session.bind_output("z", std::span(memory).last(1)); }, Code::bad_input),
              HasSubstr("'y'"));
  EXPECT_NO_THROW(session.bind_output("y", std::span(memory).last(1)));
}

// ---- asynchronous runs ----

TEST(Async, GivesResults) {
  auto session = several().open();
  for (int i = 0; i < 20; ++i) {
    auto future = session.run_async({numbers({1, 2, 3})});
    EXPECT_THAT(future.get()["y"].values<float>(), ElementsAre(0, 1, 6));
    EXPECT_THAT(session.run({{"x", numbers({2})}})["y"].values<float>(), ElementsAre(1));
  }
}

TEST(Async, ManySessionsShareTheThreads) {
  const Model model = several();
  std::vector<Session> sessions;
  std::vector<std::future<Results>> futures;
  for (int i = 0; i < 40; ++i) sessions.push_back(model.open());
  for (int round = 0; round < 5; ++round) {
    futures.clear();
    for (Session& session : sessions) {
      futures.push_back(session.run_async({numbers({static_cast<float>(futures.size()), 2})}));
    }
    for (std::size_t i = 0; i < futures.size(); ++i) {
      const auto v = static_cast<float>(i);
      EXPECT_EQ(futures[i].get()["y"].values<float>()[0], std::max(0.0f, v * v - 3));
    }
  }
}

TEST(Async, FaultsComeWithTheResult) {
  auto session = several().open();
  auto future = session.run_async({Array::of<double>({1}, {1})});
  EXPECT_THAT(message_of([&] { future.get(); }, Code::bad_input), HasSubstr("'x'"));
  EXPECT_NO_THROW(session.run_async({numbers({1})}).get());
}

TEST(Async, OneRunAtATime) {
  auto session = endless().open();
  auto future = session.run_async({Array::scalar(0.0f)});
  const auto busy = [&](auto f) { EXPECT_THAT(message_of(f, Code::bad_input), HasSubstr("in progress")); };
  busy([&] { session.run({{"x", Array::scalar(0.0f)}}); });
  busy([&] { session.run_async({Array::scalar(0.0f)}); });
  busy([&] { session.fetch({{"x", Array::scalar(0.0f)}}, {"x"}); });
  busy([&] { session.trim(); });
  busy([&] { session.set_observer(nullptr); });
  busy([&] { session.set_deadline(1); });
  session.cancel();
  EXPECT_EQ(message_of([&] { future.get(); }, Code::cancelled).empty(), false);
}

TEST(Async, RequestsThatWaitCanBeCancelled) {
  const Model model = endless();
  std::vector<Session> sessions;
  std::vector<std::future<Results>> futures;
  for (unsigned i = 0; i < std::thread::hardware_concurrency() + 3; ++i) sessions.push_back(model.open());
  for (Session& session : sessions) futures.push_back(session.run_async({Array::scalar(0.0f)}));
  for (std::size_t i = sessions.size(); i-- > 0;) sessions[i].cancel();
  for (auto& future : futures) message_of([&] { future.get(); }, Code::cancelled);
}

TEST(Async, ACancelIsNeverLost) {
  const Model model = endless();
  auto session = model.open();
  for (int i = 0; i < 200; ++i) {
    auto future = session.run_async({Array::scalar(0.0f)});
    for (int spin = 0; spin < i * 10; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
    session.cancel();
    message_of([&] { future.get(); }, Code::cancelled);
  }
}

TEST(Async, DeadlinesEndRequests) {
  auto session = endless().open({.deadline_ms = 20});
  auto future = session.run_async({Array::scalar(0.0f)});
  message_of([&] { future.get(); }, Code::limit);
  session.set_deadline(5);
  message_of([&] { session.run({{"x", Array::scalar(0.0f)}}); }, Code::limit);
  session.set_deadline(0);
  future = session.run_async({Array::scalar(0.0f)});
  message_of([&] { future.get(); }, Code::limit);
  EXPECT_THAT(message_of([&] { session.set_deadline(-1); }, Code::bad_input), HasSubstr("deadline"));
}

TEST(Async, TheEndOfASessionEndsItsRequest) {
  std::future<Results> future;
  {
    auto session = endless().open();
    future = session.run_async({Array::scalar(0.0f)});
    Session moved = std::move(session);
  }
  message_of([&] { future.get(); }, Code::cancelled);
}

TEST(Async, BorrowedInputsAreReleasedBeforeTheResultIsThere) {
  auto session = several().open();
  auto memory = std::make_shared<std::vector<float>>(std::vector<float>{1, 2});
  const std::weak_ptr<const void> watch = memory;
  const auto bytes = std::as_bytes(std::span(*memory));
  auto future = session.run_async({Array::borrow(Dtype::f32, {2}, bytes, std::move(memory))});
  future.wait();
  session.trim();
  EXPECT_TRUE(watch.expired());
}

// ---- inner values ----

class Fetch : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Tiers, Fetch, testing::Values("0", "ref"));

TEST_P(Fetch, GivesInnerValues) {
  auto session = several().open({.tier = GetParam()});
  for (int i = 0; i < 2; ++i) {
    const auto out = session.fetch({{"x", numbers({1, 2})}}, {"product", "less:0", "x"});
    EXPECT_EQ(out.size(), 7u);
    EXPECT_THAT(out["product"].values<float>(), ElementsAre(1, 4));
    EXPECT_THAT(out["less:0"].values<float>(), ElementsAre(-2, 1));
    EXPECT_THAT(out["x"].values<float>(), ElementsAre(1, 2));
    EXPECT_THAT(out["y"].values<float>(), ElementsAre(0, 1));
  }
  EXPECT_THAT(session.fetch({{"x", numbers({3})}}, {"product"})["product"].values<float>(), ElementsAre(9));
  EXPECT_EQ(session.run({{"x", numbers({3})}}).size(), 4u);
}

TEST_P(Fetch, OfBranchesAndLoops) {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {"N"});
  Term flag = graph.input("flag", Dtype::boolean, {}), n = graph.input("n", Dtype::i64, {});
  const auto y = graph.if_else(
      flag, [&](Body& body) { return std::vector{body.op("Softplus", {body.op("Exp", {x}, {}, "inside")})}; },
      [&](Body& body) { return std::vector{body.op("ReduceMax", {x}, {{"keepdims", 1}})}; }, "choice");
  const auto sum = graph.loop(n, {}, {x}, [&](Body& body, std::span<const Term> p) {
    return std::vector{body.op("Identity", {p[1]}), body.op("Add", {p[2], x}, {}, "partial")};
  });
  graph.output("y", y[0]);
  graph.output("sum", sum[0]);
  auto session = graph.build().open({.tier = GetParam()});
  const auto run = [&](bool taken) {
    return session.fetch({{"x", numbers({1})}, {"flag", Array::scalar(taken)}, {"n", Array::scalar<std::int64_t>(3)}},
                         {"inside", "partial"});
  };
  EXPECT_EQ(run(true)["inside"].count(), 1);
  EXPECT_TRUE(run(false)["inside"].empty());
  EXPECT_THAT(run(false)["partial"].values<float>(), ElementsAre(4));
}

TEST_P(Fetch, LeavesTheObserverInPlace) {
  struct Runs : frazil::Observer {
    int seen = 0;
    std::vector<std::string> wanted() const override { return {"less"}; }
    void value(const frazil::ValueEvent&) override { ++seen; }
  } observer;
  auto session = several().open({.tier = GetParam()});
  session.set_observer(&observer);
  session.fetch({{"x", numbers({1})}}, {"product"});
  session.run({{"x", numbers({1})}});
  EXPECT_EQ(observer.seen, 2);
  EXPECT_THAT(message_of([&] { session.fetch({{"x", numbers({1})}}, {"nowhere"}); }, Code::bad_input),
              HasSubstr("nowhere"));
  session.run({{"x", numbers({1})}});
  EXPECT_EQ(observer.seen, 3);
}

TEST(Feed, ReplacesAValueByAnInput) {
  const Model model = several();
  frazil::Patch patch(model, "feed");
  patch.replace("product", patch.input("product", Dtype::f32, {"N"}));
  EXPECT_THAT(message_of([&] { patch.input("x", Dtype::f32, {}); }, Code::bad_model), HasSubstr("'x'"));
  auto session = patch.commit().open();
  const auto out = session.run({{"x", numbers({1})}, {"product", numbers({10})}});
  EXPECT_THAT(out["y"].values<float>(), ElementsAre(7));
}

}  // namespace
