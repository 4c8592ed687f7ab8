#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "base/limits/execution_limits.h"
#include "error/endless.h"
#include "error/refusals.h"
#include "onnx/import/import.h"
#include "onnx/model_writer.h"

// The behaviour at each limit, on every tier; docs/reference/limits.md is the user's table.
namespace frazil::test {

std::string endless_model() {
  const Message body = graph({.nodes = {{"Identity", {"on"}, {"again"}}, {"Neg", {"v"}, {"next"}, {}, "negate"}},
                              .inputs = {value("i"), value("on"), value("v")},
                              .outputs = {value("again"), value("next")}});
  return model(graph({.nodes = {{"Loop", {"", "", "x"}, {"y"}, {graph_attr("body", body)}, "forever"}},
                      .inputs = {f32("x", {"N"})},
                      .outputs = {value("y")}}));
}

namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A run on one tier within limits.
struct Limited {
  std::shared_ptr<Executable> executable;
  std::unique_ptr<Session> session;
  std::vector<Datum> inputs;

  Limited(std::string_view text, std::string_view values, bool reference, const Limits& limits) {
    const Graph graph = graph_of(text);
    inputs = in_order(graph, values);
    executable = Executable::make(std::make_shared<const Graph>(graph), {.reference = reference}).value();
    session = executable->open();
    session->set_limits(limits);
  }
  Attempt operator()() {
    const auto out = session->run(inputs);
    return out ? Attempt{true, {}, {}} : failed(out.error());
  }
};

constexpr const char* kTiers[] = {"tier 0", "ref"};

constexpr std::string_view kEndless = R"(graph endless(%x: f32[2]) {
  %y = Loop(_, _, %x) body(%i, %on, %v) {
    %w = Add(%v, %v) "double"
    yield %on, %w
  } "forever"
  return y = %y
})";

TEST(Limit, StepsEndALoop) {
  for (const bool reference : {false, true}) {
    Limited run(kEndless, "%x = f32[2] [1, 2]", reference, {.steps = 1000, .time = {}});
    const Attempt end = run();
    EXPECT_EQ(name_of(end.code), name_of(Code::limit)) << kTiers[reference];
    EXPECT_THAT(end.message, HasSubstr("more than 1000 steps")) << kTiers[reference];
  }
}

TEST(Limit, TheDeadlineEndsALoop) {
  for (const bool reference : {false, true}) {
    Limited run(kEndless, "%x = f32[2] [1, 2]", reference, {.time = std::chrono::milliseconds(3)});
    const Attempt end = run();
    EXPECT_EQ(name_of(end.code), name_of(Code::limit)) << kTiers[reference];
    EXPECT_EQ(end.message, "the run passed its deadline of 3 ms") << kTiers[reference];
  }
}

struct Explosion {
  const char* what;
  const char* graph;
  const char* inputs;
  const char* names;  ///< named in the error
};

constexpr Explosion kExplosions[] = {
    {"Expand", R"(graph g(%x: f32[1,1], %s: i64[2]) { %y = Expand(%x, %s) "grow" return y = %y })",
     "%x = f32[1,1] 1, %s = i64[2] [100000, 100000]", "grow"},
    {"Expand of a declared extent", R"(graph g(%x: f32[N], %z: f32[N,1]) { %y = Add(%x, %z) "outer" return y = %y })",
     "%x = f32[9000] 1, %z = f32[9000,1] 1", "y"},
    {"an intermediate value",
     R"(graph g(%x: f32[N], %z: f32[N,1]) {
       %w = Add(%x, %z) "outer"
       %y = ReduceSum(%w, i64[2] [0, 1])
       return y = %y })",
     "%x = f32[9000] 1, %z = f32[9000,1] 1", "outer"},
    {"Tile", R"(graph g(%x: f32[2,2], %r: i64[2]) { %y = Tile(%x, %r) "tiles" return y = %y })",
     "%x = f32[2,2] 1, %r = i64[2] [1000000, 1000000]", "tiles"},
    {"Pad", R"(graph g(%x: f32[2], %p: i64[2]) { %y = Pad(%x, %p) "pads" return y = %y })",
     "%x = f32[2] 1, %p = i64[2] [0, 100000000000]", "pads"},
    {"Range", R"(graph g(%n: i64[]) { %y = Range(i64[] 0, %n, i64[] 1) "count" return y = %y })",
     "%n = i64[] 1000000000000", "count"},
    {"Resize", R"(graph g(%x: f32[1,1,2,2], %s: i64[4]) { %y = Resize(%x, _, _, %s) "zoom" return y = %y })",
     "%x = f32[1,1,2,2] 1, %s = i64[4] [1, 1, 1000000, 1000000]", "zoom"},
    {"ConstantOfShape", R"(graph g(%s: i64[1]) { %y = ConstantOfShape(%s) "zeros" return y = %y })",
     "%s = i64[1] 1000000000000", "zeros"},
    {"OneHot", R"(graph g(%i: i64[3], %d: i64[]) { %y = OneHot(%i, %d, f32[2] [0, 1]) "hot" return y = %y })",
     "%i = i64[3] [0, 1, 2], %d = i64[] 1000000000000", "hot"},
    {"a scan output", R"(graph g(%x: f32[1000]) {
       %y, %all = Loop(_, _, %x) body(%i, %on, %v) { yield %on, %v, %v } "log"
       return all = %all })",
     "%x = f32[1000] 1", "log"},
    {"a sequence", R"(graph g(%x: f32[1000]) {
       %s = SequenceConstruct(%x)
       %all = Loop(_, _, %s) body(%i, %on, %v) { %w = SequenceInsert(%v, %x) "insert" yield %on, %w }
       return all = %all })",
     "%x = f32[1000] 1", ""},
    {"maps", R"(graph g(%x: f32[N,2]) {
       %y = ai.onnx.ml::ZipMap(%x) {classlabels_int64s = [1, 2]} "maps"
       return y = %y })",
     "%x = f32[30000,2] 0.5", "maps"},
    {"a carried value that doubles", R"(graph g(%x: f32[M]) {
       %y = Loop(_, _, %x) body(%i, %on, %v) { %w = Concat(%v, %v) {axis = 0} "twice" yield %on, %w }
       return y = %y })",
     "%x = f32[10] 1", ""},
};

TEST(Limit, MemoryEndsWhatExplodes) {
  constexpr std::uint64_t kMemory = 1 << 20;
  for (const Explosion& e : kExplosions) {
    for (const bool reference : {false, true}) {
      Limited run(e.graph, e.inputs, reference, {.memory_bytes = kMemory, .time = {}});
      const Attempt end = run();
      SCOPED_TRACE(fmt::format("{} on {}: {}", e.what, kTiers[reference], shown(end)));
      ASSERT_FALSE(end.ok);
      EXPECT_EQ(name_of(end.code), name_of(Code::limit));
      EXPECT_THAT(end.message, HasSubstr("limit"));
      EXPECT_THAT(end.message, HasSubstr(reference ? "" : e.names));
      EXPECT_LE(run.session->held_bytes(), kMemory);
    }
  }
}

TEST(Limit, MemoryCountsTheTextOfStrings) {
  const std::string long_text(100'000, 'x');
  constexpr std::string_view kTexts = R"(graph g(%x: string[1], %n: i64[1]) { %y = Expand(%x, %n) return y = %y })";
  for (const bool reference : {false, true}) {
    Limited run(kTexts, "%n = i64[1] 1000", reference, {.memory_bytes = 10 << 20, .time = {}});
    run.inputs[0] = Tensor::of<std::string>({1}, {long_text});
    const Attempt end = run();
    EXPECT_EQ(name_of(end.code), name_of(Code::limit)) << kTiers[reference] << ": " << shown(end);
    EXPECT_THAT(end.message, HasSubstr("strings")) << kTiers[reference];
    run.inputs[1] = Tensor::of<std::int64_t>({1}, {50});
    EXPECT_TRUE(run().ok) << kTiers[reference];
  }
}

TEST(Limit, ElementsOfATensor) {
  for (const bool reference : {false, true}) {
    Limited run(R"(graph g(%x: u8[1], %s: i64[1]) { %y = Expand(%x, %s) "grow" return y = %y })",
                "%x = u8[1] 1, %s = i64[1] 1001", reference, {.tensor_elements = 1000, .time = {}});
    const Attempt end = run();
    EXPECT_EQ(name_of(end.code), name_of(Code::limit)) << kTiers[reference];
    EXPECT_THAT(end.message, AllOf(HasSubstr("more elements than the limit of 1000"), HasSubstr("u8[1001]")))
        << kTiers[reference];
    run.inputs[1] = Tensor::of<std::int64_t>({1}, {1000});
    EXPECT_TRUE(run().ok) << kTiers[reference];
  }
}

/// Returned results belong to the caller, and the memory of a run is free after it.
TEST(Limit, ResultsThatAreKeptDoNotCount) {
  for (const bool reference : {false, true}) {
    Limited run(R"(graph g(%x: f32[100000]) { %y = Relu(%x) return y = %y })", "%x = f32[100000] 1", reference,
                {.memory_bytes = 1'000'000, .time = {}});
    std::vector<std::vector<Datum>> kept;
    for (int k = 0; k < 10; ++k) {
      auto out = run.session->run(run.inputs);
      ASSERT_TRUE(out) << kTiers[reference] << ": " << out.error().text();
      kept.push_back(std::move(*out));
    }
    EXPECT_LE(run.session->held_bytes(), 1'000'000u);
  }
}

struct Kept {
  const char* what;
  const char* graph;
  std::function<std::vector<Datum>(int)> inputs;  ///< of a request of size 1 to kMaxKept
};
constexpr int kMaxKept = 400;

Tensor ones(Sizes sizes) {
  Tensor t = Tensor::make(Elem::f32, std::move(sizes)).value();
  std::ranges::fill(t.as_mutable<float>(), 1.0F);
  return t;
}

const Kept kKept[] = {
    {"extents that only the run knows", "graph g(%x: f32[N,16]) { %z = NonZero(%x) %y = Neg(%z) return y = %y }",
     [](int n) { return std::vector<Datum>{ones({n, 16})}; }},
    {"parts that a loop collects",
     R"(graph g(%x: f32[N,16], %n: i64[]) {
       %v, %all = Loop(%n, _, %x) body(%i, %on, %v) {
         %next = Neg(%v)
         %z = NonZero(%next)
         yield %on, %next, %z
       }
       return all = %all })",
     [](int n) { return std::vector<Datum>{ones({2, 16}), Tensor::scalar<std::int64_t>(n)}; }},
    {"a value that a loop makes longer",
     R"(graph g(%x: f32[N,16], %n: i64[]) {
       %y = Loop(%n, _, %x) body(%i, %on, %v) {
         %next = Concat(%v, %x) {axis = 0}
         yield %on, %next
       }
       return y = %y })",
     [](int n) { return std::vector<Datum>{ones({2, 16}), Tensor::scalar<std::int64_t>(n)}; }},
    {"the arena", "graph g(%x: f32[N,16]) { %y = Softmax(%x) %z = MatMul(%y, f32[16,1] 1) return z = %z }",
     [](int n) { return std::vector<Datum>{ones({n, 16})}; }},
};

/// A buffer that was replaced by a larger one does not count any more.
TEST(Limit, WhatASessionKeepsCountsOnce) {
  for (const Kept& row : kKept) {
    SCOPED_TRACE(row.what);
    const Graph graph = graph_of(row.graph);
    const auto executable = Executable::make(std::make_shared<const Graph>(graph), {}).value();
    const auto session_of = [&](std::size_t bytes) {
      auto session = executable->open();
      session->set_limits({.arena_bytes = bytes, .time = {}});
      return session;
    };
    std::size_t least = 1;
    for (auto got = session_of(least)->run(row.inputs(kMaxKept)); !got;) {
      ASSERT_EQ(name_of(got.error().code), name_of(Code::limit)) << got.error().text();
      least += 1 + least / 16;
      got = session_of(least)->run(row.inputs(kMaxKept));
    }
    EXPECT_GT(least, std::size_t{1000});
    const auto session = session_of(2 * least);
    for (int n = 1; n <= kMaxKept; n += 1 + n / 64) {
      const auto got = session->run(row.inputs(n));
      ASSERT_TRUE(got) << n << ": " << got.error().text();
    }
    const auto back = session->run(row.inputs(1));
    EXPECT_TRUE(back) << back.error().text();
  }
}

TEST(Limit, ARunAfterOneThatFailedIsRight) {
  for (const bool reference : {false, true}) {
    Limited run(R"(graph g(%x: f32[N], %z: f32[N,1]) {
       %w = Add(%x, %z)
       %y = ReduceSum(%w, i64[2] [0, 1]) {keepdims = 0}
       return y = %y })",
                "%x = f32[9000] 1, %z = f32[9000,1] 1", reference, {.memory_bytes = 1 << 20, .time = {}});
    EXPECT_FALSE(run().ok);
    run.inputs = {Tensor::of<float>({2}, {1, 2}), Tensor::of<float>({2, 1}, {10, 20})};
    const auto out = run.session->run(run.inputs);
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(out->at(0).tensor().as<float>()[0], 66) << kTiers[reference];
  }
}

struct Long {
  const char* what;
  const char* graph;
  const char* inputs;
};

constexpr Long kLong[] = {
    {"an endless loop", kEndless.data(), "%x = f32[2] [1, 2]"},
    {"one long product", R"(graph g(%x: f32[1,1]) {
       %a = Expand(%x, i64[2] [3000, 3000])
       %y = MatMul(%a, %a)
       return y = %y })",
     "%x = f32[1,1] 1"},
    {"one long elementwise step", R"(graph g(%x: f64[1]) {
       %a = Expand(%x, i64[1] 30000000)
       %y = Pow(%a, %a)
       return y = %y })",
     "%x = f64[1] 1.5"},
};

TEST(Cancel, FromAnotherThreadEndsTheRun) {
  for (const Long& l : kLong) {
    for (const bool reference : {false, true}) {
      Limited run(l.graph, l.inputs, reference, {.time = {}});
      auto end = std::async(std::launch::async, [&] { return run(); });
      while (end.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) run.session->cancel();
      const Attempt got = end.get();
      EXPECT_EQ(name_of(got.code), name_of(Code::cancelled)) << l.what << " on " << kTiers[reference];
    }
  }
}

TEST(Cancel, IsForgottenByTheNextRun) {
  for (const bool reference : {false, true}) {
    Limited run("graph g(%x: f32[2]) { %y = Relu(%x) return y = %y }", "%x = f32[2] [1, -1]", reference, {.time = {}});
    run.session->cancel();
    EXPECT_TRUE(run().ok) << kTiers[reference];
  }
}

TEST(Limit, TheUsualMemoryIsAPartOfTheMachines) {
  EXPECT_GT(usual_memory_limit(), std::uint64_t{1} << 20);
  EXPECT_LT(usual_memory_limit(), ~std::uint64_t{0} / 2);
}

}  // namespace
}  // namespace frazil::test
